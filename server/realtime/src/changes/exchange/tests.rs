//! Tests of the exchange: a leader and its followers.

use std::sync::Arc;

use bytes::Bytes;
use replication::{Lsn, OldTuple, Relation, RelationColumn, ReplicaIdentity, Tuple};
use time::OffsetDateTime;

use super::*;
use crate::row::{Kind, Position};

const TIMELINE: WalTimeline = WalTimeline { system: 7, timeline: 1 };

fn rows(commit: u64) -> Vec<RowChange> {
    let column = RelationColumn { name: "id".to_owned(), is_key: true, type_oid: 23, type_modifier: -1 };
    let relation = Arc::new(Relation {
        oid: 5,
        schema: "public".to_owned(),
        name: "t".to_owned(),
        replica_identity: ReplicaIdentity::Full,
        columns: vec![column],
    });
    let tuple = |value: u8| Tuple::from_bytes(1, &Bytes::from(vec![b't', 0, 0, 0, 1, value])).unwrap();
    let (new, old) = (Some(tuple(b'2')), Some(OldTuple::Full(tuple(b'1'))));
    let committed_at = OffsetDateTime::UNIX_EPOCH;
    let position = Position { commit: Lsn(commit), row: 1 };
    vec![RowChange { relation, kind: Kind::Update, new, old, committed_at, xid: 9, position }]
}

/// Returns a leader and a follower that know each other, and their nodes.
fn two() -> (Exchange, Exchange, NodeId, NodeId) {
    let (leader, follower) = (Exchange::default(), Exchange::default());
    let (one, two) = (NodeId::random(), NodeId::random());
    leader.lead(TIMELINE);
    leader.add(two);
    follower.add(one);
    let alive = Head::Alive { rows: leader.batch_range() }.into();
    assert!(follower.handle(one, &alive).is_empty());
    assert!(follower.has_leader());
    (leader, follower, one, two)
}

/// Returns the commits of the batches that have come, and acknowledges them; `None` stands for a gap.
fn receive(follower: &Exchange, leader: &Exchange, node: NodeId) -> Vec<Option<u64>> {
    let mut commits = Vec::new();
    while let Some(received) = follower.receive() {
        commits.push(match received {
            InboxItem::Gap => None,
            InboxItem::Batch { timeline, rows, run, number } => {
                assert_eq!((timeline, rows[0].xid, rows[0].kind), (TIMELINE, 9, Kind::Update));
                assert_eq!(rows[0].new.as_ref().unwrap().get(0).unwrap().text(), Some("2"));
                assert_eq!(rows[0].old.as_ref().unwrap().tuple().get(0).unwrap().text(), Some("1"));
                leader.handle(node, &Exchange::acknowledgement(run, number));
                Some(rows[0].position.commit.0)
            }
        });
    }
    commits
}

#[test]
fn missed_batches_are_sent_again() {
    let (leader, follower, one, two) = two();
    let messages: Vec<Message> = (0..3).map(|commit| leader.send(&rows(commit)).unwrap()).collect();
    assert!(follower.handle(one, &messages[0]).is_empty());
    let requests = follower.handle(one, &messages[2]);
    assert_eq!(requests.len(), 1);
    assert_eq!((leader.next_number(), leader.delivered_by_all()), (3, 0));
    for reply in leader.handle(two, &requests[0]) {
        assert!(follower.handle(one, &reply).is_empty());
    }
    // Twice is passed over.
    follower.handle(one, &messages[1]);
    assert_eq!(receive(&follower, &leader, two), [Some(0), Some(1), Some(2)]);
    assert_eq!(leader.delivered_by_all(), 3);
    assert_eq!(leader.batch_range().unwrap().first, 3, "nothing is kept that all have");
}

#[test]
fn another_leader_is_followed_from_its_beginning() {
    let (leader, follower, one, two) = two();
    follower.handle(one, &leader.send(&rows(0)).unwrap());
    assert_eq!(receive(&follower, &leader, two), [Some(0)]);
    let (next, three) = (Exchange::default(), NodeId::random());
    next.add(two);
    next.lead(TIMELINE);
    let messages: Vec<Message> = (1..3).map(|commit| next.send(&rows(commit)).unwrap()).collect();
    for request in follower.handle(three, &messages[1]) {
        for reply in next.handle(two, &request) {
            follower.handle(three, &reply);
        }
    }
    assert_eq!(receive(&follower, &next, two), [Some(1), Some(2)]);

    // One that led before does so, too.
    leader.end_leading();
    leader.handle(three, &messages[0]);
    assert_eq!(receive(&leader, &next, one), [Some(1)]);
}

#[test]
fn a_forgotten_follower_gets_a_gap() {
    let (leader, follower, one, two) = two();
    leader.remove(two);
    assert!(leader.send(&rows(0)).is_none(), "nobody is there");
    let other = NodeId::random();
    leader.add(other);
    leader.send(&rows(1)).unwrap();
    let run = leader.batch_range().unwrap().run;
    leader.handle(other, &Exchange::acknowledgement(run, 0));
    leader.add(two);
    follower.handle(one, &Head::Alive { rows: leader.batch_range() }.into());
    follower.handle(one, &leader.send(&rows(2)).unwrap());
    assert_eq!(receive(&follower, &leader, two), [None, Some(2)]);

    // A new one has been promised nothing.
    let new = Exchange::default();
    new.handle(one, &Head::Alive { rows: leader.batch_range() }.into());
    assert!(receive(&new, &leader, NodeId::random()).is_empty());
    new.handle(one, &Head::Alive { rows: None }.into());
    assert!(!new.has_leader());
}
