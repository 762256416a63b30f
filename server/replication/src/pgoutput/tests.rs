//! Tests of the decoder without a server.

use bytes::{BufMut as _, BytesMut};

use super::*;
use crate::Value;

/// A message under construction.
struct Message(BytesMut);

impl Message {
    fn new(kind: u8) -> Self {
        Self(BytesMut::from(&[kind][..]))
    }

    fn u8(mut self, value: u8) -> Self {
        self.0.put_u8(value);
        self
    }

    fn u16(mut self, value: u16) -> Self {
        self.0.put_u16(value);
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.put_u32(value);
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.put_u64(value);
        self
    }

    fn text(mut self, value: &str) -> Self {
        self.0.put_slice(value.as_bytes());
        self.u8(0)
    }

    fn value(mut self, value: &str) -> Self {
        self.0.put_u8(b't');
        self.0.put_u32(u32::try_from(value.len()).unwrap());
        self.0.put_slice(value.as_bytes());
        self
    }

    fn bytes(self) -> Bytes {
        self.0.freeze()
    }
}

fn table(name: &str) -> Bytes {
    let message = Message::new(b'R').u32(7).text("public").text(name).u8(b'd').u16(2);
    let message = message.u8(1).text("id").u32(23).u32(u32::MAX);
    message.u8(0).text("name").u32(25).u32(u32::MAX).bytes()
}

/// Returns one message of each kind, in an order that a server may send.
fn messages() -> Vec<Bytes> {
    vec![
        Message::new(b'B').u64(0x10).u64(1_000_000).u32(42).bytes(),
        Message::new(b'O').u64(1).text("elsewhere").bytes(),
        Message::new(b'Y').u32(9).text("public").text("mood").bytes(),
        Message::new(b'M').u8(1).u64(1).text("prefix").u32(1).u8(b'x').bytes(),
        table("t"),
        Message::new(b'I').u32(7).u8(b'N').u16(2).value("1").u8(b'n').bytes(),
        Message::new(b'U').u32(7).u8(b'N').u16(2).value("1").u8(b'u').bytes(),
        Message::new(b'U')
            .u32(7)
            .u8(b'K')
            .u16(2)
            .value("1")
            .u8(b'n')
            .u8(b'N')
            .u16(2)
            .value("2")
            .u8(b'u')
            .bytes(),
        Message::new(b'U')
            .u32(7)
            .u8(b'O')
            .u16(2)
            .value("2")
            .value("é")
            .u8(b'N')
            .u16(2)
            .value("2")
            .value("")
            .bytes(),
        Message::new(b'D').u32(7).u8(b'K').u16(2).value("2").u8(b'n').bytes(),
        Message::new(b'D').u32(7).u8(b'O').u16(2).value("2").value("x").bytes(),
        Message::new(b'T').u32(2).u8(3).u32(7).u32(7).bytes(),
        Message::new(b'C').u8(0).u64(0x10).u64(0x20).u64(1_000_000).bytes(),
    ]
}

fn values(tuple: &Tuple) -> Vec<Value<'_>> {
    tuple.values().collect()
}

#[test]
fn every_kind_of_message_is_decoded() {
    let mut decoder = Decoder::default();
    let mut events: Vec<Event> = Vec::new();
    for message in messages() {
        events.extend(decoder.decode(message).unwrap());
    }
    let mut events = events.into_iter();
    let moment = POSTGRES_EPOCH + time::Duration::SECOND;
    let begin = events.next().unwrap();
    assert!(
        matches!(begin, Event::Begin { final_position: Lsn(0x10), committed_at, xid: 42 } if committed_at == moment)
    );
    let Some(Event::Insert { relation, new }) = events.next() else { panic!("an insert") };
    assert_eq!((relation.schema.as_str(), relation.name.as_str(), relation.oid), ("public", "t", 7));
    assert_eq!(relation.replica_identity, ReplicaIdentity::Default);
    let id = RelationColumn { name: "id".to_owned(), type_oid: 23, type_modifier: -1, is_key: true };
    assert_eq!(relation.columns.first(), Some(&id));
    assert_eq!(values(&new), [Value::Text(b"1"), Value::Null]);
    assert_eq!((new.bytes(0).as_deref(), new.bytes(1), new.get(2)), (Some(&b"1"[..]), None, None));

    let Some(Event::Update { old: None, new, .. }) = events.next() else {
        panic!("an update without an old row")
    };
    assert_eq!(values(&new), [Value::Text(b"1"), Value::Unchanged]);
    let Some(Event::Update { old: Some(OldTuple::Key(old)), new, .. }) = events.next() else {
        panic!("of the key")
    };
    assert_eq!((values(&old)[0], values(&new)[0]), (Value::Text(b"1"), Value::Text(b"2")));
    let Some(Event::Update { old: Some(OldTuple::Full(old)), new, .. }) = events.next() else {
        panic!("a whole row")
    };
    assert_eq!((values(&old)[1].text(), values(&new)[1].text()), (Some("é"), Some("")));

    assert!(matches!(events.next(), Some(Event::Delete { old: OldTuple::Key(_), .. })));
    assert!(matches!(events.next(), Some(Event::Delete { old: OldTuple::Full(_), .. })));
    assert!(matches!(events.next(), Some(Event::Truncate { relations }) if relations.len() == 2));
    let commit = events.next().unwrap();
    assert!(
        matches!(commit, Event::Commit { position: Lsn(0x10), end: Lsn(0x20), committed_at } if committed_at == moment)
    );
    assert!(events.next().is_none() && !decoder.is_in_transaction());
}

#[test]
fn values_can_be_appended() {
    let mut decoder = Decoder::default();
    let events = messages().into_iter().filter_map(|message| decoder.decode(message).unwrap());
    let new = events.into_iter().find_map(|event| match event {
        Event::Insert { new, .. } => Some(new),
        _ => None,
    });
    let more = [Value::Text("ü".as_bytes()), Value::Null, Value::Unchanged];
    let extended = new.unwrap().extended(&more);
    assert_eq!(values(&extended), [&[Value::Text(b"1"), Value::Null][..], &more].concat());
    let again = Tuple::from_bytes(extended.len() as u16, extended.as_bytes()).unwrap();
    assert_eq!(values(&again), values(&extended));
}

#[test]
fn a_repeated_description_replaces_the_first() {
    let mut decoder = Decoder::default();
    decoder.decode(table("t")).unwrap();
    let before = decoder.relation(7).unwrap();
    assert!(Arc::ptr_eq(&before, &decoder.relation(7).unwrap()));
    decoder.decode(table("t")).unwrap();
    assert!(!Arc::ptr_eq(&before, &decoder.relation(7).unwrap()));
}

#[test]
fn cut_off_messages_are_errors() {
    for (index, message) in messages().into_iter().enumerate() {
        // Kinds that are skipped are not parsed.
        let is_skipped = matches!(message[0], b'O' | b'Y' | b'M');
        for length in 0..message.len() {
            let mut decoder = Decoder::default();
            decoder.decode(table("t")).unwrap();
            let decoded = decoder.decode(message.slice(..length));
            assert!(decoded.is_err() || is_skipped && length > 0, "message {index} cut to {length}");
        }
    }
}

#[test]
fn messages_of_the_wrong_kind_or_length_are_errors() {
    let mut decoder = Decoder::default();
    decoder.decode(table("t")).unwrap();
    for message in [
        // Of an in-progress transaction and of two-phase commit, which were not requested.
        Message::new(b'S').u32(1).u8(1),
        Message::new(b'b').u64(1).u64(1).u64(1).u32(1).text("gid"),
        Message::new(0),
        Message::new(b'I').u32(8).u8(b'N').u16(2).value("1").u8(b'n'),
        Message::new(b'I').u32(7).u8(b'N').u16(1).value("1"),
        Message::new(b'I').u32(7).u8(b'N').u16(2).value("1").u8(b'b'),
        Message::new(b'I').u32(7).u8(b'K').u16(2).value("1").u8(b'n'),
        Message::new(b'I').u32(7).u8(b'N').u16(2).value("1").u8(b't').u32(u32::MAX),
        Message::new(b'I').u32(7).u8(b'N').u16(2).value("1").u8(b'n').u8(0),
        Message::new(b'D').u32(7).u8(b'N').u16(2).value("1").u8(b'n'),
        Message::new(b'T').u32(u32::MAX).u8(0).u32(7),
        Message::new(b'R').u32(7).text("public").text("t").u8(b'x').u16(0),
        Message::new(b'B').u64(1).u64(u64::MAX >> 1).u32(1),
    ] {
        let message = message.bytes();
        assert!(decoder.decode(message.clone()).is_err(), "{message:?}");
    }
}

#[test]
fn garbage_never_panics() {
    // A generator of pseudo-random numbers with a fixed seed (xorshift), so that a failure can be repeated.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let originals = messages();
    let pick = |random: u64, length: usize| usize::try_from(random % length as u64).unwrap();
    for _ in 0..200_000 {
        let mut decoder = Decoder::default();
        decoder.decode(table("t")).unwrap();
        let mut message = originals[pick(random(), originals.len())].to_vec();
        for _ in 0..=random() % 3 {
            let at = pick(random(), message.len());
            message[at] = random().to_le_bytes()[0];
        }
        message.truncate(pick(random(), message.len()) + 1);
        if let Ok(Some(Event::Insert { new, .. } | Event::Update { new, .. })) =
            decoder.decode(message.into())
        {
            assert_eq!(values(&new).len(), new.len());
        }
    }
}
