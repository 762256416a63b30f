//! Rows written as JSON while they are read from the connection: byte for byte the text that Postgres' own
//! `json_agg` of the same rows would be, at a third of what that costs Postgres.
//!
//! A type whose text form differs from its JSON form in a way that is not known here makes the writer give up; the
//! caller then has to let Postgres write. Source of the forms: `datum_to_json_internal`, `escape_json` and
//! `JsonEncodeDateTime` in PostgreSQL's `src/backend/utils/adt/json.c`.

use std::sync::Arc;

use bytes::{Buf as _, Bytes, BytesMut};

use crate::{Column, Error};

/// Type of a message that holds a row. Source: PostgreSQL documentation, section 55.7.
const DATA_ROW: u8 = b'D';

/// Length of a message's type and length.
const HEADER: usize = 5;

/// The most that is added to a plain value: quotes, or what a null or the zone of a timestamp takes.
const LONGEST_DECORATION: usize = 8;

/// What stands between two rows.
const BETWEEN_ROWS: &[u8] = b", \n ";

/// Rows as a JSON array of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonArray {
    /// The array's text; `[]` without rows.
    pub text: Bytes,
    /// How many rows it holds.
    pub rows: usize,
}

/// How a value's text form becomes its JSON form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// As it is: integers, `json`, `jsonb`.
    Verbatim,
    /// As it is, unless it is no JSON number: `NaN` and the infinities.
    Number,
    Boolean,
    /// Quoted. Only in `DateStyle` ISO are the forms the same.
    Date,
    /// Quoted, with a `T` for the space. Only for `DateStyle` ISO.
    Timestamp,
    /// The same, with the zone's minutes.
    ZonedTimestamp,
    /// Quoted and escaped.
    Text,
}

impl Form {
    /// The form of the type with this OID, of those that every database has.
    ///
    /// Arrays, composite types and types that a database added are missing: some of them have a form, or a cast to
    /// `json`, of their own.
    const fn of(type_oid: u32) -> Option<Self> {
        Some(match type_oid {
            // int8, int2, int4, json, jsonb
            20 | 21 | 23 | 114 | 3802 => Self::Verbatim,
            // float4, float8, numeric
            700 | 701 | 1700 => Self::Number,
            16 => Self::Boolean,
            1082 => Self::Date,
            1114 => Self::Timestamp,
            1184 => Self::ZonedTimestamp,
            // bytea, name, text, oid, xml, point, lseg, path, box, polygon, line
            17 | 19 | 25 | 26 | 142 | 600..=604 | 628
            // cidr, circle, macaddr8, money, macaddr, inet
            | 650 | 718 | 774 | 790 | 829 | 869
            // bpchar, varchar, time, interval, timetz, bit, varbit
            | 1042 | 1043 | 1083 | 1186 | 1266 | 1560 | 1562
            // uuid, pg_lsn, tsvector, tsquery, jsonpath
            | 2950 | 3220 | 3614 | 3615 | 4072
            // int4range, numrange, tsrange, tstzrange, daterange, int8range
            | 3904 | 3906 | 3908 | 3910 | 3912 | 3926 => Self::Text,
            _ => return None,
        })
    }
}

#[derive(Debug)]
struct Field {
    /// What stands before the value: a brace or comma, and the key.
    prefix: Box<[u8]>,
    form: Form,
}

/// How rows with certain columns are written.
#[derive(Debug)]
pub(crate) struct Format {
    /// Empty where one of the columns is of a type that only Postgres can write, or where there are none: there is
    /// nothing to begin an object with then.
    fields: Box<[Field]>,
    /// Bytes that a row takes beside its values.
    overhead: usize,
}

impl Format {
    /// The format of rows with these columns.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let fields = columns.iter().enumerate().map(|(index, column)| {
            let mut prefix = Vec::with_capacity(column.name.len() + 8);
            prefix.push(if index == 0 { b'{' } else { b',' });
            quote(&mut prefix, column.name.as_bytes());
            prefix.push(b':');
            Some(Field { prefix: prefix.into(), form: Form::of(column.type_oid)? })
        });
        let fields: Box<[Field]> = fields.collect::<Option<_>>().unwrap_or_default();
        let overhead = fields.iter().map(|field| field.prefix.len() + LONGEST_DECORATION).sum();
        Self { fields, overhead }
    }
}

/// Writes one result.
pub(crate) struct Writer {
    format: Arc<Format>,
    text: Vec<u8>,
    rows: usize,
    /// Whether a type or a value was met that only Postgres can write.
    gave_up: bool,
}

impl Writer {
    /// A writer of rows in `format`.
    pub(crate) fn new(format: Arc<Format>) -> Self {
        Self { gave_up: format.fields.is_empty(), format, text: Vec::new(), rows: 0 }
    }

    /// Takes all complete rows from the front of what was read from the connection.
    ///
    /// Errors: [`Error::Protocol`] for a row that is not what its lengths claim.
    pub(crate) fn take_rows(&mut self, inbound: &mut BytesMut) -> Result<(), Error> {
        let mut rest: &[u8] = inbound;
        let mut taken = 0;
        while let Some((&[DATA_ROW, a, b, c, d], _)) = rest.split_first_chunk::<HEADER>() {
            // The length counts itself, but not the type before it.
            let length = usize::try_from(i32::from_be_bytes([a, b, c, d])).unwrap_or(0) + 1;
            let Some((row, after)) = rest.split_at_checked(length) else { break };
            self.row(row.get(HEADER..).unwrap_or_default())
                .ok_or_else(|| Error::protocol("a malformed row"))?;
            taken += length;
            rest = after;
        }
        inbound.advance(taken);
        Ok(())
    }

    /// Appends a row, being the message without its header; `None` when it is malformed.
    fn row(&mut self, message: &[u8]) -> Option<()> {
        let (&count, mut rest) = message.split_first_chunk::<2>()?;
        self.rows += 1;
        if self.gave_up {
            return Some(());
        }
        if usize::from(u16::from_be_bytes(count)) != self.format.fields.len() {
            return None;
        }
        self.text.reserve(message.len() + self.format.overhead);
        self.text.extend_from_slice(if self.rows == 1 { b"[" } else { BETWEEN_ROWS });
        for field in &self.format.fields {
            let (&length, after) = rest.split_first_chunk::<4>()?;
            rest = after;
            self.text.extend_from_slice(&field.prefix);
            // -1 is null.
            match usize::try_from(i32::from_be_bytes(length)) {
                Err(_) => self.text.extend_from_slice(b"null"),
                Ok(length) => {
                    let (value, after) = rest.split_at_checked(length)?;
                    rest = after;
                    if !write(&mut self.text, field.form, value) {
                        self.gave_up = true;
                        self.text = Vec::new();
                        return Some(());
                    }
                }
            }
        }
        self.text.push(b'}');
        Some(())
    }

    /// The array; `None` when only Postgres can write it.
    pub(crate) fn finish(mut self) -> Option<JsonArray> {
        if self.gave_up {
            return None;
        }
        self.text.extend_from_slice(if self.rows == 0 { b"[]" } else { b"]" });
        Some(JsonArray { text: self.text.into(), rows: self.rows })
    }
}

/// Appends `value`; `false` when its text is not what is expected of `form`.
fn write(text: &mut Vec<u8>, form: Form, value: &[u8]) -> bool {
    match form {
        Form::Verbatim => text.extend_from_slice(value),
        Form::Number if is_finite(value) => text.extend_from_slice(value),
        Form::Boolean => text.extend_from_slice(if value == b"t" { b"true" } else { b"false" }),
        Form::Number | Form::Text => quote(text, value),
        Form::Date | Form::Timestamp | Form::ZonedTimestamp => return date(text, form, value),
    }
    true
}

/// Whether a number's text is neither `NaN` nor `Infinity` nor `-Infinity`.
fn is_finite(number: &[u8]) -> bool {
    number.last().is_some_and(u8::is_ascii_digit)
}

/// Appends a date or timestamp; `false` unless it is `infinity`, `-infinity` or in ISO form, which begins with a
/// year of four digits or more and a hyphen. No other `DateStyle` has that.
fn date(text: &mut Vec<u8>, form: Form, value: &[u8]) -> bool {
    let year = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_iso = year >= 4 && value.get(year) == Some(&b'-');
    if !is_iso && !value.ends_with(b"infinity") {
        return false;
    }
    text.extend_from_slice(b"\"");
    match value.iter().position(|byte| *byte == b' ') {
        // The space in a date is that before `BC`.
        Some(space) if form != Form::Date => {
            let (day, time) = (&value[..space], &value[space + 1..]);
            let (time, era) = match time.strip_suffix(b" BC") {
                Some(time) => (time, &b" BC"[..]),
                None => (time, &b""[..]),
            };
            text.extend_from_slice(day);
            text.extend_from_slice(b"T");
            text.extend_from_slice(time);
            // A sign and two digits are all of a zone without minutes, which JSON's form shows nevertheless.
            let has_hours_only = matches!(time, [.., b'+' | b'-', _, _]);
            if form == Form::ZonedTimestamp && has_hours_only {
                text.extend_from_slice(b":00");
            }
            text.extend_from_slice(era);
        }
        _ => text.extend_from_slice(value),
    }
    text.extend_from_slice(b"\"");
    true
}

/// Appends a JSON string.
fn quote(text: &mut Vec<u8>, value: &[u8]) {
    text.push(b'"');
    if is_plain(value) {
        text.extend_from_slice(value);
    } else {
        escape(text, value);
    }
    text.push(b'"');
}

/// Whether nothing in `value` has to be escaped, found out for eight bytes at a time: most texts are plain.
fn is_plain(value: &[u8]) -> bool {
    let Some(last) = value.last_chunk() else { return !value.iter().any(|byte| is_escaped(*byte)) };
    // The last eight bytes may be looked at twice, which costs less than one by one.
    let (words, _) = value.as_chunks();
    !words.iter().any(|word| has_escaped(u64::from_ne_bytes(*word)))
        && !has_escaped(u64::from_ne_bytes(*last))
}

/// Whether one of eight bytes has to be escaped.
const fn has_escaped(word: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // Whether a byte of `word` is less than `bound`, which is 128 at most: only then is its high bit borrowed.
    const fn has_less(word: u64, bound: u64) -> bool {
        word.wrapping_sub(ONES * bound) & !word & HIGH != 0
    }
    const fn has(word: u64, byte: u8) -> bool {
        has_less(word ^ (ONES * byte as u64), 1)
    }
    has_less(word, 0x20) | has(word, b'"') | has(word, b'\\')
}

const fn is_escaped(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Appends what stands between the quotes of a JSON string.
fn escape(text: &mut Vec<u8>, value: &[u8]) {
    const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";
    let mut rest = value;
    while let Some(index) = rest.iter().position(|byte| is_escaped(*byte)) {
        let byte = rest[index];
        text.extend_from_slice(&rest[..index]);
        rest = &rest[index + 1..];
        let short = match byte {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            b'"' | b'\\' => byte,
            _ => {
                let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
                text.extend_from_slice(b"\\u00");
                text.extend_from_slice(&[HEXADECIMAL[high], HEXADECIMAL[low]]);
                continue;
            }
        };
        text.extend_from_slice(&[b'\\', short]);
    }
    text.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes rows of one column of the type with this OID.
    fn writer_of(type_oid: u32) -> Writer {
        Writer::new(Arc::new(Format::new(&[Column { name: "v".into(), type_oid }])))
    }

    /// What a value of the type with this OID becomes; `None` when only Postgres can say.
    fn written(type_oid: u32, values: &[Option<&str>]) -> Option<String> {
        let mut writer = writer_of(type_oid);
        let mut inbound = BytesMut::new();
        for value in values {
            let length = value.map_or(-1, |value| i32::try_from(value.len()).unwrap());
            let value = value.unwrap_or_default();
            let message = i32::try_from(4 + 2 + 4 + value.len()).unwrap();
            inbound.extend_from_slice(b"D");
            inbound.extend_from_slice(&message.to_be_bytes());
            inbound.extend_from_slice(&1_i16.to_be_bytes());
            inbound.extend_from_slice(&length.to_be_bytes());
            inbound.extend_from_slice(value.as_bytes());
        }
        inbound.extend_from_slice(b"C");
        writer.take_rows(&mut inbound).unwrap();
        assert_eq!(&inbound[..], b"C", "what follows the rows stays");
        writer.finish().map(|array| String::from_utf8(array.text.to_vec()).unwrap())
    }

    #[test]
    fn rows_are_separated_as_postgres_does() {
        assert_eq!(written(23, &[]).unwrap(), "[]");
        assert_eq!(written(23, &[Some("1")]).unwrap(), r#"[{"v":1}]"#);
        assert_eq!(written(23, &[Some("1"), None]).unwrap(), "[{\"v\":1}, \n {\"v\":null}]");
    }

    #[test]
    fn only_what_is_no_number_is_quoted() {
        let rows = [Some("-0"), Some("1e+20"), Some("NaN"), Some("-Infinity")];
        assert_eq!(
            written(701, &rows).unwrap(),
            "[{\"v\":-0}, \n {\"v\":1e+20}, \n {\"v\":\"NaN\"}, \n {\"v\":\"-Infinity\"}]"
        );
    }

    #[test]
    fn zones_have_minutes_and_eras_come_last() {
        let zoned = |value| written(1184, &[Some(value)]).unwrap();
        assert_eq!(zoned("2020-01-02 03:04:05.6+00"), r#"[{"v":"2020-01-02T03:04:05.6+00:00"}]"#);
        assert_eq!(zoned("2020-01-02 03:04:05-05:30"), r#"[{"v":"2020-01-02T03:04:05-05:30"}]"#);
        assert_eq!(zoned("0044-03-15 12:00:00+01 BC"), r#"[{"v":"0044-03-15T12:00:00+01:00 BC"}]"#);
        assert_eq!(zoned("-infinity"), r#"[{"v":"-infinity"}]"#);
        assert_eq!(
            written(1114, &[Some("0044-03-15 12:00:00 BC")]).unwrap(),
            r#"[{"v":"0044-03-15T12:00:00 BC"}]"#
        );
        assert_eq!(written(1082, &[Some("0044-03-15 BC")]).unwrap(), r#"[{"v":"0044-03-15 BC"}]"#);
    }

    #[test]
    fn other_date_styles_and_types_are_left_to_postgres() {
        for other in ["17.12.1997", "12/17/1997", "12-17-1997", "Wed Dec 17 07:37:16 1997 PST"] {
            assert_eq!(written(1184, &[Some("infinity"), Some(other), Some("infinity")]), None, "{other}");
        }
        assert_eq!(written(1009, &[Some("{a,b}")]), None, "an array of texts");
        assert_eq!(written(16_400, &[]), None, "a type of the database's own");
    }

    #[test]
    fn strings_are_escaped_as_postgres_does() {
        assert_eq!(
            written(25, &[Some("\u{1}\u{8}\u{c}\n\r\t\"\\/\u{7f}\u{1f}é\u{2028}")]).unwrap(),
            "[{\"v\":\"\\u0001\\b\\f\\n\\r\\t\\\"\\\\/\u{7f}\\u001fé\u{2028}\"}]"
        );
    }

    #[test]
    fn escapes_are_found_wherever_they_stand() {
        for escaped in [0, 0x1f, b'"', b'\\'] {
            for at in 0..20 {
                let mut text = [0xff, b' ', b'!', b'#', b'[', b']', 0x7f, 0x80].repeat(3);
                assert!(is_plain(&text[..at]));
                text[at] = escaped;
                assert!(!is_plain(&text), "{escaped} at {at}");
                assert!(!is_plain(&text[..=at]), "{escaped} at the end of {at}");
            }
        }
    }

    #[test]
    fn a_row_that_lies_about_its_lengths_is_refused() {
        let mut writer = writer_of(25);
        let mut inbound = BytesMut::from(&b"D\x00\x00\x00\x0b\x00\x01\x00\x00\x00\x09x"[..]);
        assert!(writer.take_rows(&mut inbound).is_err());
        let mut incomplete = BytesMut::from(&b"D\x00\x00\x00\xff\x00\x01"[..]);
        let mut writer = writer_of(25);
        writer.take_rows(&mut incomplete).unwrap();
        assert_eq!(incomplete.len(), 7, "the rest of it is still to come");
    }
}
