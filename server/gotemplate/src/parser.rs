//! Parses tokens into a tree.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use super::lexer::{LocatedToken, Token};
use super::{TemplateError, Value, functions};

/// The maximum depth of nested blocks and parentheses.
const MAX_DEPTH: usize = 50;

/// A node of a template's tree.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Written unchanged.
    Text(String),
    /// `{{ … }}`
    Action(Pipeline),
    /// `{{ if … }} … {{ else }} … {{ end }}`
    If { condition: Pipeline, then: Vec<Self>, otherwise: Vec<Self> },
    /// As `if`, with the dot set to the value.
    With { value: Pipeline, then: Vec<Self>, otherwise: Vec<Self> },
    /// Once for each item of the value.
    Range { items: Pipeline, body: Vec<Self>, otherwise: Vec<Self> },
    /// `{{ template "name" … }}`
    Template { name: String, data: Option<Pipeline>, line: usize },
    /// `{{ break }}`
    Break,
    /// `{{ continue }}`
    Continue,
}

/// Commands, each of which gets the value of the previous one as its last argument.
#[derive(Debug, Clone)]
pub(super) struct Pipeline {
    pub(super) line: usize,
    /// Variables that the value is assigned to.
    pub(super) variables: Vec<String>,
    /// Whether the variables are new.
    pub(super) declares: bool,
    pub(super) commands: Vec<Vec<Operand>>,
}

/// An operand of a command.
#[derive(Debug, Clone)]
pub(super) enum Operand {
    /// The dot, and fields of it.
    Dot(Vec<String>),
    /// A variable, and fields of it; the nameless one is the template's data.
    Variable(String, Vec<String>),
    /// A value in parentheses, and fields of it.
    Parentheses(Box<Pipeline>, Vec<String>),
    /// A function to call.
    Function(String),
    /// A literal in the template.
    Literal(Value),
}

/// The tree of a template, and those of the templates that it defines.
pub(super) struct ParsedTemplate {
    pub(super) nodes: Vec<Node>,
    pub(super) defined: BTreeMap<String, Vec<Node>>,
}

/// Parses `tokens` into a tree.
pub(super) fn parse(tokens: Vec<LocatedToken>) -> Result<ParsedTemplate, TemplateError> {
    let mut parser =
        Parser { tokens: tokens.into_iter().peekable(), line: 1, depth: 0, defined: BTreeMap::new() };
    let (nodes, end) = parser.nodes()?;
    match end {
        End::Source => Ok(ParsedTemplate { nodes, defined: parser.defined }),
        _ => Err(parser.error("there is nothing to end here")),
    }
}

/// The end of a list of nodes.
enum End {
    Source,
    Closed,
    Else,
    /// `{{ else if … }}` or `{{ else with … }}`, up to the keyword.
    ElseBlock(String),
}

struct Parser {
    tokens: Peekable<IntoIter<LocatedToken>>,
    line: usize,
    depth: usize,
    defined: BTreeMap<String, Vec<Node>>,
}

impl Parser {
    fn error(&self, reason: impl Into<String>) -> TemplateError {
        TemplateError::new(self.line, reason)
    }

    fn next(&mut self) -> Option<Token> {
        let located = self.tokens.next()?;
        self.line = located.line;
        Some(located.token)
    }

    fn peek(&mut self) -> Option<&Token> {
        self.tokens.peek().map(|located| &located.token)
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(Token::Space)) {
            self.next();
        }
    }

    fn enter(&mut self) -> Result<(), TemplateError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(format!("more than {MAX_DEPTH} levels of blocks or parentheses")));
        }
        Ok(())
    }

    fn nodes(&mut self) -> Result<(Vec<Node>, End), TemplateError> {
        self.enter()?;
        let mut nodes = Vec::new();
        let end = loop {
            match self.next() {
                None => break End::Source,
                Some(Token::Text(text)) => nodes.push(Node::Text(text)),
                Some(_) => {
                    self.skip_space();
                    let keyword = match self.peek() {
                        Some(Token::Word(word)) => word.clone(),
                        _ => String::new(),
                    };
                    match self.block(&keyword)? {
                        Block::Node(node) => nodes.push(node),
                        Block::Nothing => {}
                        Block::End(end) => break end,
                    }
                }
            }
        };
        self.depth -= 1;
        Ok((nodes, end))
    }

    fn block(&mut self, keyword: &str) -> Result<Block, TemplateError> {
        if matches!(
            keyword,
            "if" | "with" | "range" | "template" | "block" | "define" | "break" | "continue" | "end" | "else"
        ) {
            self.next();
            self.skip_space();
        }
        Ok(match keyword {
            "if" | "with" | "range" => Block::Node(self.control(keyword)?),
            "template" => Block::Node(self.template()?),
            "block" => Block::Node(self.define(true)?.ok_or_else(|| self.error("a block is empty"))?),
            "define" => {
                self.define(false)?;
                Block::Nothing
            }
            "break" => {
                self.close()?;
                Block::Node(Node::Break)
            }
            "continue" => {
                self.close()?;
                Block::Node(Node::Continue)
            }
            "end" => {
                self.close()?;
                Block::End(End::Closed)
            }
            "else" => Block::End(match self.next() {
                Some(Token::Close) => End::Else,
                Some(Token::Word(word)) if matches!(word.as_str(), "if" | "with") => {
                    self.skip_space();
                    End::ElseBlock(word)
                }
                _ => return Err(self.error("expected if, with or }} after else")),
            }),
            _ => Block::Node(Node::Action(self.pipeline(&Token::Close)?)),
        })
    }

    fn close(&mut self) -> Result<(), TemplateError> {
        self.skip_space();
        match self.next() {
            Some(Token::Close) => Ok(()),
            _ => Err(self.error("expected }}")),
        }
    }

    fn control(&mut self, keyword: &str) -> Result<Node, TemplateError> {
        let pipeline = self.pipeline(&Token::Close)?;
        let (then, end) = self.nodes()?;
        let otherwise = match end {
            End::Closed => Vec::new(),
            End::Else => match self.nodes()? {
                (nodes, End::Closed) => nodes,
                _ => return Err(self.error("expected {{ end }} after {{ else }}")),
            },
            End::ElseBlock(inner) if keyword != "range" => {
                self.enter()?;
                let node = self.control(&inner)?;
                self.depth -= 1;
                vec![node]
            }
            End::ElseBlock(_) | End::Source => {
                return Err(self.error(format!("{{{{ {keyword} }}}} is not closed with {{{{ end }}}}")));
            }
        };
        Ok(match keyword {
            "if" => Node::If { condition: pipeline, then, otherwise },
            "with" => Node::With { value: pipeline, then, otherwise },
            _ => Node::Range { items: pipeline, body: then, otherwise },
        })
    }

    fn name(&mut self) -> Result<String, TemplateError> {
        match self.next() {
            Some(Token::String(name)) => Ok(name),
            _ => Err(self.error("expected the name of a template in quotes")),
        }
    }

    fn template(&mut self) -> Result<Node, TemplateError> {
        let (name, line) = (self.name()?, self.line);
        self.skip_space();
        let data = if matches!(self.peek(), Some(Token::Close)) {
            self.close()?;
            None
        } else {
            Some(self.pipeline(&Token::Close)?)
        };
        Ok(Node::Template { name, data, line })
    }

    /// Parses a definition. If `used` is set, the definition is also executed at its place, and the node for that is
    /// returned.
    fn define(&mut self, used: bool) -> Result<Option<Node>, TemplateError> {
        let (name, line) = (self.name()?, self.line);
        self.skip_space();
        let data = if used {
            Some(self.pipeline(&Token::Close)?)
        } else {
            self.close()?;
            None
        };
        let (nodes, end) = self.nodes()?;
        if !matches!(end, End::Closed) {
            return Err(self.error(format!("template {name:?} is not closed with {{{{ end }}}}")));
        }
        self.defined.insert(name.clone(), nodes);
        Ok(used.then_some(Node::Template { name, data, line }))
    }

    /// Parses a pipeline up to and including `end`.
    fn pipeline(&mut self, end: &Token) -> Result<Pipeline, TemplateError> {
        self.skip_space();
        let (variables, declares, first) = self.assignment()?;
        let line = self.line;
        let mut commands = Vec::new();
        let mut command: Vec<Operand> = first.into_iter().collect();
        loop {
            match self.peek() {
                Some(Token::Space) => self.skip_space(),
                Some(Token::Pipe) => {
                    self.next();
                    commands.push(self.check(std::mem::take(&mut command))?);
                }
                Some(token) if token == end => {
                    self.next();
                    commands.push(self.check(command)?);
                    return Ok(Pipeline { line, variables, declares, commands });
                }
                _ => command.push(self.operand()?),
            }
        }
    }

    fn check(&self, command: Vec<Operand>) -> Result<Vec<Operand>, TemplateError> {
        match command.as_slice() {
            [] => Err(self.error("a value is missing")),
            [Operand::Function(_), ..] | [_] => Ok(command),
            _ => Err(self.error("only functions take arguments")),
        }
    }

    /// Parses `$a :=`, `$a =` or `$a, $b :=` at the beginning of a pipeline. If a variable there is not assigned to, it
    /// is returned as an operand.
    fn assignment(&mut self) -> Result<(Vec<String>, bool, Option<Operand>), TemplateError> {
        let mut variables = Vec::new();
        while let Some(Token::Variable(name)) = self.peek().cloned() {
            self.next();
            let fields = self.fields();
            self.skip_space();
            match self.peek() {
                Some(Token::Comma) if fields.is_empty() && variables.is_empty() => {
                    self.next();
                    self.skip_space();
                    variables.push(name);
                }
                Some(token @ (Token::Declare | Token::Assign)) if fields.is_empty() => {
                    let declares = *token == Token::Declare;
                    self.next();
                    self.skip_space();
                    variables.push(name);
                    return Ok((variables, declares, None));
                }
                _ if variables.is_empty() => {
                    return Ok((variables, false, Some(Operand::Variable(name, fields))));
                }
                _ => break,
            }
        }
        if variables.is_empty() { Ok((variables, false, None)) } else { Err(self.error("expected := or =")) }
    }

    fn fields(&mut self) -> Vec<String> {
        let mut fields = Vec::new();
        while let Some(Token::Field(name)) = self.peek().cloned() {
            self.next();
            fields.push(name);
        }
        fields
    }

    fn operand(&mut self) -> Result<Operand, TemplateError> {
        Ok(match self.next() {
            Some(Token::Dot) => Operand::Dot(Vec::new()),
            Some(Token::Field(first)) => {
                let mut fields = vec![first];
                fields.extend(self.fields());
                Operand::Dot(fields)
            }
            Some(Token::Variable(name)) => Operand::Variable(name, self.fields()),
            Some(Token::OpenParenthesis) => {
                self.enter()?;
                let pipeline = self.pipeline(&Token::CloseParenthesis)?;
                self.depth -= 1;
                Operand::Parentheses(Box::new(pipeline), self.fields())
            }
            Some(Token::String(text)) => Operand::Literal(Value::String(text)),
            Some(Token::Int(number)) => Operand::Literal(Value::Int(number)),
            Some(Token::Float(number)) => Operand::Literal(Value::Float(number)),
            Some(Token::Word(word)) => match word.as_str() {
                "true" => Operand::Literal(Value::Bool(true)),
                "false" => Operand::Literal(Value::Bool(false)),
                "nil" => Operand::Literal(Value::Nil),
                name if functions::exists(name) => Operand::Function(word),
                _ => return Err(self.error(format!("function {word:?} is not defined"))),
            },
            _ => return Err(self.error("expected a value")),
        })
    }
}

/// The result of parsing an action.
enum Block {
    Node(Node),
    Nothing,
    End(End),
}
