//! The text form of Postgres' parse trees (`pg_node_tree`), as `pg_rewrite.ev_action` contains them. Source: Postgres,
//! `src/backend/nodes/read.c`.

use std::collections::HashMap;

/// The maximum depth of a tree that is read.
const MAX_DEPTH: usize = 500;

/// A part of a tree. Texts are as they are written, with backslashes before special characters.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    Object { kind: &'a str, fields: HashMap<&'a str, Self> },
    List(Vec<Self>),
    Text(&'a str),
    Null,
}

impl<'a> Node<'a> {
    /// Returns the tree in `text`; `None` if it is malformed or too deep.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut reader = Reader { tokens: tokens(text), next: 0 };
        let node = reader.node(0)?;
        (reader.next == reader.tokens.len()).then_some(node)
    }

    pub(crate) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Object { kind, .. } if *kind == wanted)
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object { fields, .. } => fields.get(name),
            _ => None,
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'a str> {
        match self.field(name) {
            Some(Self::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        self.text(name)?.parse().ok()
    }

    /// Returns the members of a list; none if the field is no list.
    pub(crate) fn list(&self, name: &str) -> &[Self] {
        match self.field(name) {
            Some(Self::List(members)) => members,
            _ => &[],
        }
    }
}

struct Reader<'a> {
    tokens: Vec<&'a str>,
    next: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.next).copied()
    }

    fn take(&mut self) -> Option<&'a str> {
        let token = self.peek()?;
        self.next += 1;
        Some(token)
    }

    fn node(&mut self, depth: usize) -> Option<Node<'a>> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.take()? {
            "{" => self.object(depth),
            "(" => self.list(depth),
            "<>" => Some(Node::Null),
            text => Some(Node::Text(text)),
        }
    }

    fn object(&mut self, depth: usize) -> Option<Node<'a>> {
        let kind = self.take()?;
        let mut fields = HashMap::new();
        loop {
            let name = match self.take()? {
                "}" => return Some(Node::Object { kind, fields }),
                token => token.strip_prefix(':')?,
            };
            let value = if self.is_end_of_field() { Node::Null } else { self.node(depth + 1)? };
            fields.insert(name, value);
            // A constant's value is its length and its bytes.
            while !self.is_end_of_field() {
                self.node(depth + 1)?;
            }
        }
    }

    fn is_end_of_field(&self) -> bool {
        self.peek().is_none_or(|token| token == "}" || token.starts_with(':'))
    }

    fn list(&mut self, depth: usize) -> Option<Node<'a>> {
        // Lists of numbers begin with a letter for their type.
        if matches!(self.peek()?, "i" | "o" | "b" | "x") {
            self.next += 1;
        }
        let mut members = Vec::new();
        while self.peek()? != ")" {
            members.push(self.node(depth + 1)?);
        }
        self.next += 1;
        Some(Node::List(members))
    }
}

fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b' ' | b'\n' | b'\t' => continue,
            b'(' | b')' | b'{' | b'}' => {}
            _ => {
                at = start;
                while let Some(byte) = bytes.get(at) {
                    match byte {
                        b'\\' => at += 2,
                        b' ' | b'\n' | b'\t' | b'(' | b')' | b'{' | b'}' => break,
                        _ => at += 1,
                    }
                }
            }
        }
        // A backslash may be the last byte, or before a character of several bytes.
        while at < bytes.len() && !text.is_char_boundary(at) {
            at += 1;
        }
        at = at.min(bytes.len());
        tokens.push(&text[start..at]);
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_lists_and_texts_are_read() {
        let text = r"({QUERY :a <> :b (i 1 2) :names (\ x y\)z) :value 4 [ 1 0 ] :empty :deep {VAR :n 7}})";
        let tree = Node::parse(text).unwrap();
        let Node::List(members) = &tree else { panic!("{tree:?}") };
        let query = &members[0];
        assert!(query.is("QUERY"));
        assert_eq!(query.field("a"), Some(&Node::Null));
        assert_eq!(query.list("b"), [Node::Text("1"), Node::Text("2")]);
        assert_eq!(query.list("names"), [Node::Text(r"\ x"), Node::Text(r"y\)z")]);
        assert_eq!(query.number("value"), Some(4));
        assert_eq!(query.field("empty"), Some(&Node::Null));
        assert_eq!(query.field("deep").and_then(|deep| deep.number("n")), Some(7));
    }

    #[test]
    fn what_is_malformed_or_too_deep_is_refused() {
        for text in ["", "{", "{A", "{A :b", "(", "(1", "{A b}", "1 2", ")", "\\"] {
            assert!(Node::parse(text).is_none_or(|node| matches!(node, Node::Text(_))), "{text}");
        }
        assert_eq!(Node::parse(&"(".repeat(100_000)), None);
        assert!(Node::parse("\\é x").is_none());
    }
}
