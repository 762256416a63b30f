//! The size of a statement in proportion to its request. Each condition that an embed has rows, or none, repeats that
//! embed with all of its own conditions: without a limit, a short request could become a statement of any size.

use super::read::{Condition, Node};
use crate::error::Error;
use crate::request::syntax::Join;

/// The most conditions that one statement may have beyond those of the request.
const MOST_REPEATED: usize = 20_000;

/// Refuses a tree that repeats too many conditions.
///
/// Errors: `PGRST100`.
pub(super) fn check(tree: &Node) -> Result<(), Error> {
    let weight = Weight::of(tree);
    let repeated = weight.complete.saturating_sub(weight.requested);
    if repeated <= MOST_REPEATED {
        return Ok(());
    }
    Err(Error::Syntax {
        message: "\"failed to plan the request's filters on embeds\"".to_owned(),
        details: format!("unexpected {repeated} repeated conditions expecting at most {MOST_REPEATED}"),
    })
}

/// Numbers of conditions.
struct Weight {
    /// Of the request.
    requested: usize,
    /// Of the statement, for testing that the node has rows.
    matched: usize,
    /// Of the statement, for the node's rows with all their embeds.
    complete: usize,
}

impl Weight {
    /// Adds up the tree below `node`. Every node is visited once, however often it is written.
    fn of(node: &Node) -> Self {
        let embeds: Vec<Self> = node.embeds.iter().map(|embed| Self::of(&embed.node)).collect();
        let own = |repeats: &[Self]| {
            node.conditions.iter().map(|condition| weight(condition, repeats)).fold(1, usize::saturating_add)
        };
        let inner = node.embeds.iter().zip(&embeds).filter(|(embed, _)| embed.join == Join::Inner);
        let matched = inner.map(|(_, weight)| weight.matched).fold(own(&embeds), usize::saturating_add);
        let complete = embeds.iter().map(|embed| embed.complete).fold(matched, usize::saturating_add);
        let requested = embeds.iter().map(|embed| embed.requested).fold(own(&[]), usize::saturating_add);
        Self { requested, matched, complete }
    }
}

/// Returns the weight of one condition, with what it repeats of the node's embeds.
fn weight(condition: &Condition, embeds: &[Weight]) -> usize {
    match condition {
        Condition::Filter { .. } => 1,
        Condition::Group { members, .. } => {
            members.iter().map(|member| weight(member, embeds)).fold(1, usize::saturating_add)
        }
        Condition::Embedded { embed, .. } => embeds.get(*embed).map_or(1, |embed| embed.matched),
    }
}
