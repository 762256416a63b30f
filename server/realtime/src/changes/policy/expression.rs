//! The reader of conditions as `pg_get_expr` writes them: with parentheses around each operation.
//!
//! It knows AND, OR, equality, columns and claims. It need not know the rest of SQL: what it does not know is a
//! condition of which nothing is required.

use super::claim::{Claim, Kind};
use super::subquery;
use super::{Alternative, Requirement, RowValues};
use crate::changes::table::Table;

/// How deep parentheses may be nested.
const MAX_DEPTH: usize = 64;

/// A piece of SQL: a token, or what stands in parentheses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// A keyword or a name without quotes.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A string.
    Text(String),
    /// An operator, a comma, a period or another sign.
    Sign(String),
    Group(Vec<Self>),
}

impl Piece {
    /// Reports whether it is the word `word`, in whatever case.
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Self::Sign(found) if found == sign)
    }

    /// Returns the name of a column that it is; what Postgres writes in upper case is a keyword.
    fn column(&self) -> Option<&str> {
        match self {
            Self::Word(word) if word.contains(|letter: char| letter.is_ascii_uppercase()) => None,
            _ => self.name(),
        }
    }

    /// Returns the name that it is, as the catalog has it.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Quoted(name) => Some(name),
            _ => None,
        }
    }
}

/// What a side of a comparison is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Term {
    Column(NamedColumn),
    Claim(Claim),
    /// A JSON object in the token, by the keys that lead to it.
    Object(Vec<String>),
}

/// A column as an expression names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedColumn {
    pub(super) relation: Option<String>,
    pub(super) name: String,
    /// Whether it is cast to text.
    pub(super) is_text: bool,
}

/// Returns what `condition`, the condition of a policy of `table`, requires; `None` if nothing is understood.
pub(super) fn requirement(condition: &str, table: &Table) -> Option<Requirement> {
    of_pieces(&read(condition)?, table)
}

fn of_pieces(pieces: &[Piece], table: &Table) -> Option<Requirement> {
    match pieces {
        [Piece::Group(inner)] => return of_pieces(inner, table),
        [word] if word.is_word("false") => return Some(Requirement(Vec::new())),
        _ => {}
    }
    let has = |word: &str| pieces.iter().any(|piece| piece.is_word(word));
    match (has("OR"), has("AND")) {
        // Such as CASE, of which these may be a part.
        _ if has("CASE") || has("BETWEEN") || has("NOT") => None,
        (true, true) => None,
        (true, false) => {
            let parts = pieces.split(|piece| piece.is_word("OR"));
            parts.map(|part| of_pieces(part, table)).reduce(|one, other| one?.either(other?))?
        }
        (false, true) => {
            let parts = pieces.split(|piece| piece.is_word("AND"));
            parts.map(|part| of_pieces(part, table)).reduce(Requirement::both)?
        }
        (false, false) => equality(pieces, table).or_else(|| subquery::requirement(pieces, table)),
    }
}

/// Returns the requirement of `column = claim`.
fn equality(pieces: &[Piece], table: &Table) -> Option<Requirement> {
    let (claim, column) = comparison(pieces)?;
    let (None, known) = (column.relation, table.column(&column.name)?) else { return None };
    (known.is_equal_by_text && claim.is_comparable(&known.type_name, column.is_text))
        .then(|| Requirement(vec![Alternative { claim, values: RowValues::Column(column.name) }]))
}

/// Returns the claim and the column that are compared for equality.
pub(super) fn comparison(pieces: &[Piece]) -> Option<(Claim, NamedColumn)> {
    match sides(pieces)? {
        (Term::Claim(claim), Term::Column(column)) | (Term::Column(column), Term::Claim(claim)) => {
            Some((claim, column))
        }
        _ => None,
    }
}

/// Returns the two sides of `one = other`.
pub(super) fn sides(pieces: &[Piece]) -> Option<(Term, Term)> {
    let mut sides = pieces.split(|piece| piece.is_sign("="));
    match (sides.next(), sides.next(), sides.next()) {
        (Some(one), Some(other), None) => Some((term(one)?, term(other)?)),
        _ => None,
    }
}

/// Returns what `pieces` stand for.
pub(super) fn term(pieces: &[Piece]) -> Option<Term> {
    match pieces {
        [Piece::Group(inner)] => match inner.split_first() {
            Some((word, rest)) if word.is_word("SELECT") => term(without_alias(rest)),
            _ => term(inner),
        },
        [name] => Some(Term::Column(NamedColumn {
            relation: None,
            name: name.column()?.to_owned(),
            is_text: false,
        })),
        [relation, dot, name] if dot.is_sign(".") => Some(Term::Column(NamedColumn {
            relation: Some(relation.name()?.to_owned()),
            name: name.column()?.to_owned(),
            is_text: false,
        })),
        [schema, dot, function, Piece::Group(arguments)]
            if schema.is_word("auth") && dot.is_sign(".") && arguments.is_empty() =>
        {
            let claim = |key: &str| Claim::text_at(vec![key.to_owned()], write(pieces));
            match function.name()? {
                "uid" => claim("sub").cast(Kind::Uuid, write(pieces)).map(Term::Claim),
                "email" => Some(Term::Claim(claim("email"))),
                "role" => Some(Term::Claim(claim("role"))),
                "jwt" => Some(Term::Object(Vec::new())),
                _ => None,
            }
        }
        [function, Piece::Group(arguments)] if function.is_word("current_setting") => {
            setting(arguments, pieces)
        }
        pieces if pieces.iter().any(|piece| piece.is_sign("->") || piece.is_sign("->>")) => member(pieces),
        pieces => {
            let last = pieces.iter().rposition(|piece| piece.is_sign("::"))?;
            let (left, to) = pieces.split_at_checked(last)?;
            cast(term(left)?, to.get(1..)?, pieces)
        }
    }
}

/// Returns the member of a JSON object that `object -> 'key'` or `object ->> 'key'` is.
fn member(pieces: &[Piece]) -> Option<Term> {
    let arrow = pieces.iter().rposition(|piece| piece.is_sign("->") || piece.is_sign("->>"))?;
    let (object, rest) = pieces.split_at_checked(arrow)?;
    let (operator, key) = rest.split_first()?;
    let Term::Object(mut path) = term(object)? else { return None };
    path.push(string(key)?.to_owned());
    if operator.is_sign("->") {
        return Some(Term::Object(path));
    }
    Some(Term::Claim(Claim::text_at(path, write(pieces))))
}

/// Returns the string that `'…'::text` is.
fn string(pieces: &[Piece]) -> Option<&str> {
    match pieces {
        [Piece::Text(text), cast, kind] if cast.is_sign("::") && kind.is_word("text") => Some(text),
        _ => None,
    }
}

/// Returns what `current_setting(…)` is with these arguments.
fn setting(arguments: &[Piece], whole: &[Piece]) -> Option<Term> {
    let (name, rest) = arguments.split_at_checked(3)?;
    if !rest.is_empty() && !matches!(rest, [comma, word] if comma.is_sign(",") && word.name().is_some()) {
        return None;
    }
    let claim = |path: Vec<String>| Some(Term::Claim(Claim::text_at(path, write(whole))));
    match string(name)? {
        // A cast makes it an object.
        "request.jwt.claims" => claim(Vec::new()),
        "request.jwt.claim.sub" => claim(vec!["sub".to_owned()]),
        "request.jwt.claim.role" => claim(vec!["role".to_owned()]),
        _ => None,
    }
}

/// Returns what `left` is after a cast.
fn cast(left: Term, to: &[Piece], whole: &[Piece]) -> Option<Term> {
    let words: Option<Vec<&str>> = to.iter().map(Piece::name).collect();
    let words = words?.join(" ");
    match (left, words.as_str()) {
        (Term::Claim(Claim { path, .. }), "json" | "jsonb") if path.is_empty() => Some(Term::Object(path)),
        (Term::Claim(claim), name) => claim.cast(Kind::of(name)?, write(whole)).map(Term::Claim),
        (Term::Column(column), "text") => Some(Term::Column(NamedColumn { is_text: true, ..column })),
        _ => None,
    }
}

/// Returns `pieces` without `AS name` at their end.
pub(super) fn without_alias(pieces: &[Piece]) -> &[Piece] {
    match pieces {
        [rest @ .., word, name] if word.is_word("AS") && name.name().is_some() => rest,
        pieces => pieces,
    }
}

/// Reads SQL; `None` if it is not understood where its parts end.
pub(super) fn read(sql: &str) -> Option<Vec<Piece>> {
    let mut open: Vec<Vec<Piece>> = vec![Vec::new()];
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (piece, length) = match first {
            first if first.is_whitespace() => (None, first.len_utf8()),
            '(' if open.len() > MAX_DEPTH => return None,
            '(' => {
                open.push(Vec::new());
                (None, 1)
            }
            ')' => (Some(Piece::Group(open.pop()?)), 1),
            '\'' => {
                let (text, length) = quoted(rest, '\'')?;
                (Some(Piece::Text(text)), length)
            }
            '"' => {
                let (name, length) = quoted(rest, '"')?;
                (Some(Piece::Quoted(name)), length)
            }
            // A string with escapes, or with another prefix.
            first if first.is_alphabetic() && rest[first.len_utf8()..].starts_with('\'') => return None,
            first if first.is_alphanumeric() || first == '_' => {
                let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '$');
                let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
                (Some(Piece::Word(rest[..length].to_owned())), length)
            }
            ',' | '.' | '[' | ']' | ';' => (Some(Piece::Sign(first.into())), 1),
            _ if rest.starts_with("::") => (Some(Piece::Sign("::".to_owned())), 2),
            _ => {
                let is_part = |character: char| "+-*/<>=~!@#%^&|`?:".contains(character);
                let length = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
                if length == 0 {
                    return None;
                }
                (Some(Piece::Sign(rest[..length].to_owned())), length)
            }
        };
        if let Some(piece) = piece {
            open.last_mut()?.push(piece);
        }
        rest = &rest[length..];
    }
    match (open.pop(), open.is_empty()) {
        (Some(pieces), true) => Some(pieces),
        _ => None,
    }
}

/// Returns the text in quotes that `sql` begins with, and its length with the quotes.
fn quoted(sql: &str, quote: char) -> Option<(String, usize)> {
    let (mut text, mut length) = (String::new(), 1);
    loop {
        let end = sql[length..].find(quote)?;
        text.push_str(&sql[length..length + end]);
        length += end + 1;
        if !sql[length..].starts_with(quote) {
            return Some((text, length));
        }
        text.push(quote);
        length += 1;
    }
}

/// Returns the SQL of `pieces`.
fn write(pieces: &[Piece]) -> String {
    let quote = |text: &str, quote: char| {
        format!("{quote}{}{quote}", text.replace(quote, &format!("{quote}{quote}")))
    };
    let write = |piece: &Piece| match piece {
        Piece::Word(word) => word.clone(),
        Piece::Sign(sign) => sign.clone(),
        Piece::Quoted(name) => quote(name, '"'),
        Piece::Text(text) => quote(text, '\''),
        Piece::Group(pieces) => format!("({})", write(pieces)),
    };
    pieces.iter().map(write).collect::<Vec<_>>().join(" ")
}
