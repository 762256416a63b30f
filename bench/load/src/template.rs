//! Texts with placeholders that are replaced for every request.
//!
//! `{1..20000}` becomes a random integer of that range, including both ends; `{uuid}` a random UUID; `{seq}` the next
//! number of a sequence that all connections share. All other braces stay unchanged: JSON and PostgREST's array
//! literals need them.

use std::cell::Cell;
use std::io::Write as _;
use std::ops::RangeInclusive;

use rand::RngExt as _;
use rand::rngs::SmallRng;
use uuid::Builder;

/// A text, split at its placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Integer(RangeInclusive<i64>),
    Uuid,
    Sequence,
}

/// The source of the placeholders' values.
pub(crate) struct Source<'a> {
    /// Random numbers: a fast generator, which is good enough to distribute keys.
    pub(crate) random: SmallRng,
    /// The next number of the shared sequence.
    pub(crate) sequence: &'a Cell<u64>,
}

impl Template {
    /// Parses the placeholders of `text`.
    pub(crate) fn new(text: &str) -> Self {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let placeholder = rest[open..].find('}').and_then(|length| {
                let close = open + length;
                Piece::placeholder(&rest[open + 1..close]).map(|piece| (piece, close + 1))
            });
            let end = match placeholder {
                Some((piece, end)) => {
                    literal.push_str(&rest[..open]);
                    if !literal.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    }
                    pieces.push(piece);
                    end
                }
                None => {
                    literal.push_str(&rest[..=open]);
                    open + 1
                }
            };
            rest = &rest[end..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            pieces.push(Piece::Text(literal));
        }
        Self { pieces }
    }

    /// Appends the text with its placeholders replaced.
    pub(crate) fn render(&self, source: &mut Source<'_>, out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Integer(range) => write_display(out, source.random.random_range(range.clone())),
                Piece::Uuid => {
                    write_display(out, Builder::from_random_bytes(source.random.random()).into_uuid())
                }
                Piece::Sequence => {
                    let number = source.sequence.get();
                    source.sequence.set(number + 1);
                    write_display(out, number);
                }
            }
        }
    }
}

impl Piece {
    fn placeholder(name: &str) -> Option<Self> {
        match name {
            "uuid" => Some(Self::Uuid),
            "seq" => Some(Self::Sequence),
            _ => {
                let (first, last) = name.split_once("..")?;
                let range = first.parse().ok()?..=last.parse().ok()?;
                (!range.is_empty()).then_some(Self::Integer(range))
            }
        }
    }
}

fn write_display(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    fn rendered(text: &str, sequence: &Cell<u64>) -> String {
        let mut out = Vec::new();
        let mut source = Source { random: SmallRng::seed_from_u64(7), sequence };
        Template::new(text).render(&mut source, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn integers_are_of_their_range() {
        let sequence = Cell::new(0);
        for _ in 0..100 {
            let path = rendered("/players?id=eq.{5..7}&limit=1", &sequence);
            let id = path.strip_prefix("/players?id=eq.").and_then(|rest| rest.strip_suffix("&limit=1"));
            assert!((5..=7).contains(&id.unwrap().parse::<i64>().unwrap()), "{path}");
        }
    }

    #[test]
    fn the_sequence_goes_on() {
        let sequence = Cell::new(41);
        assert_eq!(rendered("{seq} {seq}", &sequence), "41 42");
        assert_eq!(rendered("[{seq}]", &sequence), "[43]");
    }

    #[test]
    fn other_braces_are_text() {
        let sequence = Cell::new(1);
        assert_eq!(rendered(r#"{"a":{"b":{1..1}},"c":"{x}"#, &sequence), r#"{"a":{"b":1},"c":"{x}"#);
        assert_eq!(rendered("cs.{1,2}&n={2..1}&{", &sequence), "cs.{1,2}&n={2..1}&{");
        assert_eq!(rendered("{uuid}", &sequence).len(), 36);
    }
}
