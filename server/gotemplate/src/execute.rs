//! Executes templates: replaces actions by values.

use std::collections::BTreeMap;

use super::escape::Escaper;
use super::parser::{Node, Operand, Pipeline};
use super::{Format, MAX_OUTPUT, Template, TemplateError, Value, functions};

/// The maximum depth of templates that use each other.
const MAX_DEPTH: usize = 20;
/// The maximum number of executed nodes, which limits the time of nested loops.
const MAX_STEPS: usize = 100_000;

/// Executes `template` with `data`.
pub(super) fn render(template: &Template, data: &Value) -> Result<String, TemplateError> {
    let output = match template.format {
        Format::Text => Output::Text(String::new()),
        Format::Html => Output::Html(Escaper::new()),
    };
    let variables = vec![(String::new(), data.clone())];
    let mut run = Run { defined: &template.defined, output, variables, depth: 0, steps: 0 };
    run.nodes(&template.nodes, data)?;
    Ok(match run.output {
        Output::Text(text) => text,
        Output::Html(escaper) => escaper.finish(),
    })
}

enum Output {
    Text(String),
    Html(Escaper),
}

impl Output {
    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Html(escaper) => escaper.len(),
        }
    }
}

/// What follows after a node.
#[derive(PartialEq)]
enum Flow {
    On,
    Break,
    Continue,
}

struct Run<'t> {
    defined: &'t BTreeMap<String, Vec<Node>>,
    output: Output,
    /// Names and values; the innermost variable is the last. The first has no name and is the data.
    variables: Vec<(String, Value)>,
    depth: usize,
    steps: usize,
}

impl Run<'_> {
    fn nodes(&mut self, nodes: &[Node], dot: &Value) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        for node in nodes {
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                self.variables.truncate(scope);
                return Ok(flow);
            }
        }
        self.variables.truncate(scope);
        Ok(Flow::On)
    }

    fn node(&mut self, node: &Node, dot: &Value) -> Result<Flow, TemplateError> {
        self.steps += 1;
        if self.steps > MAX_STEPS || self.output.len() > MAX_OUTPUT {
            return Err(TemplateError::new(0, "the template makes too much"));
        }
        match node {
            Node::Text(text) => match &mut self.output {
                Output::Text(output) => output.push_str(text),
                Output::Html(escaper) => escaper.text(text),
            },
            Node::Action(pipeline) => self.action(pipeline, dot)?,
            Node::If { condition, then, otherwise } => {
                let scope = self.variables.len();
                let chosen = if self.pipeline(condition, dot)?.is_true() { then } else { otherwise };
                let flow = self.nodes(chosen, dot)?;
                self.variables.truncate(scope);
                return Ok(flow);
            }
            Node::With { value, then, otherwise } => {
                let scope = self.variables.len();
                let value = self.pipeline(value, dot)?;
                let flow =
                    if value.is_true() { self.nodes(then, &value)? } else { self.nodes(otherwise, dot)? };
                self.variables.truncate(scope);
                return Ok(flow);
            }
            Node::Range { items, body, otherwise } => return self.range(items, body, otherwise, dot),
            Node::Template { name, data, line } => self.template(name, data.as_ref(), *line, dot)?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn action(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<(), TemplateError> {
        let value = self.pipeline(pipeline, dot)?;
        if !pipeline.variables.is_empty() {
            return Ok(());
        }
        match &mut self.output {
            Output::Text(output) if value == Value::Nil => output.push_str("<no value>"),
            Output::Text(output) => output.push_str(&value.to_string()),
            Output::Html(escaper) => {
                escaper.value(&value).map_err(|reason| TemplateError::new(pipeline.line, reason))?;
            }
        }
        Ok(())
    }

    fn range(
        &mut self,
        items: &Pipeline,
        body: &[Node],
        otherwise: &[Node],
        dot: &Value,
    ) -> Result<Flow, TemplateError> {
        let scope = self.variables.len();
        let pairs: Vec<(Value, Value)> = match self.commands(items, dot)? {
            Value::Nil => Vec::new(),
            Value::List(items) => (0..).map(Value::Int).zip(items).collect(),
            Value::Map(fields) => {
                fields.into_iter().map(|(name, value)| (Value::String(name), value)).collect()
            }
            other => {
                let reason = format!("range can't iterate over a {}", other.kind());
                return Err(TemplateError::new(items.line, reason));
            }
        };
        if pairs.is_empty() {
            return self.nodes(otherwise, dot);
        }
        for (key, value) in pairs {
            match items.variables.as_slice() {
                [] => {}
                [only] => self.variables.push((only.clone(), value.clone())),
                [first, second, ..] => {
                    self.variables.push((first.clone(), key));
                    self.variables.push((second.clone(), value.clone()));
                }
            }
            let flow = self.nodes(body, &value)?;
            self.variables.truncate(scope);
            if flow == Flow::Break {
                break;
            }
        }
        Ok(Flow::On)
    }

    fn template(
        &mut self,
        name: &str,
        data: Option<&Pipeline>,
        line: usize,
        dot: &Value,
    ) -> Result<(), TemplateError> {
        let defined = self.defined;
        let nodes = defined.get(name);
        let nodes =
            nodes.ok_or_else(|| TemplateError::new(line, format!("template {name:?} is not defined")))?;
        if self.depth >= MAX_DEPTH {
            return Err(TemplateError::new(line, "templates use each other too deeply"));
        }
        let data = data.map(|pipeline| self.pipeline(pipeline, dot)).transpose()?.unwrap_or_default();
        let outer = std::mem::replace(&mut self.variables, vec![(String::new(), data.clone())]);
        self.depth += 1;
        self.nodes(nodes, &data)?;
        self.depth -= 1;
        self.variables = outer;
        Ok(())
    }

    /// Returns the value of `pipeline`, and assigns it to the pipeline's variables.
    fn pipeline(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let value = self.commands(pipeline, dot)?;
        for name in &pipeline.variables {
            let known = self.variables.iter_mut().rev().find(|(known, _)| known == name);
            match known {
                _ if pipeline.declares => self.variables.push((name.clone(), value.clone())),
                Some((_, known)) => *known = value.clone(),
                None => return Err(TemplateError::new(pipeline.line, format!("undefined variable ${name}"))),
            }
        }
        Ok(value)
    }

    fn commands(&mut self, pipeline: &Pipeline, dot: &Value) -> Result<Value, TemplateError> {
        let mut last = None;
        for command in &pipeline.commands {
            last = Some(self.command(command, last, dot, pipeline.line)?);
        }
        Ok(last.unwrap_or_default())
    }

    fn command(
        &mut self,
        command: &[Operand],
        last: Option<Value>,
        dot: &Value,
        line: usize,
    ) -> Result<Value, TemplateError> {
        match command {
            [Operand::Function(name), arguments @ ..] => self.call(name, arguments, last, dot, line),
            [operand, ..] if last.is_none() => self.operand(operand, dot, line),
            _ => Err(TemplateError::new(line, "a value is piped into what is not a function")),
        }
    }

    fn call(
        &mut self,
        name: &str,
        operands: &[Operand],
        last: Option<Value>,
        dot: &Value,
        line: usize,
    ) -> Result<Value, TemplateError> {
        let mut arguments = Vec::with_capacity(operands.len() + 1);
        for operand in operands {
            let value = self.operand(operand, dot, line)?;
            // `and` and `or` evaluate only as many arguments as they need.
            if (name == "and" && !value.is_true()) || (name == "or" && value.is_true()) {
                return Ok(value);
            }
            arguments.push(value);
        }
        arguments.extend(last);
        functions::call(name, &arguments)
            .map_err(|reason| TemplateError::new(line, format!("error calling {name}: {reason}")))
    }

    fn operand(&mut self, operand: &Operand, dot: &Value, line: usize) -> Result<Value, TemplateError> {
        let (mut value, fields) = match operand {
            Operand::Dot(fields) => (dot.clone(), fields),
            Operand::Variable(name, fields) => {
                let known = self.variables.iter().rev().find(|(known, _)| known == name);
                let undefined = || TemplateError::new(line, format!("undefined variable ${name}"));
                (known.map(|(_, value)| value.clone()).ok_or_else(undefined)?, fields)
            }
            Operand::Parentheses(pipeline, fields) => (self.pipeline(pipeline, dot)?, fields),
            Operand::Function(name) => return self.call(name, &[], None, dot, line),
            Operand::Literal(value) => return Ok(value.clone()),
        };
        for field in fields {
            value = value.field(field).map_err(|kind| {
                TemplateError::new(line, format!("can't evaluate field {field} in a {kind}"))
            })?;
        }
        Ok(value)
    }
}
