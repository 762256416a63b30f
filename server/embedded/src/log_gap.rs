//! Gaps in the write-ahead log that a repository has.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::archiver::Engine;
use super::error::Error;

/// How long the repository may take to say what it has.
const LIMIT: Duration = Duration::from_secs(300);
/// How often it is asked: several files may be on their way to it at once, and the later one may arrive first.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// What Postgres says before and after the name of a file that it has got from the repository.
const GOT: &str = "restored log file \"";
/// The length of the name of a file of the log, and of its part that names the timeline.
const NAME: usize = 24;
const TIMELINE: usize = 8;

/// Returns the file of the log that the repository lacks although it has later ones, if the recovery of which `log_file` is
/// the log of Postgres has ended there.
///
/// Errors: those of the repository.
pub(super) async fn find(engine: &Engine, log_file: &Path) -> Result<Option<String>, Error> {
    let log = std::fs::read_to_string(log_file).map_err(Error::io("read", log_file))?;
    let Some(last) = last_read(&log) else { return Ok(None) };
    for tried in 1..=TRIES {
        let found = gap_after(last, &engine.archived_log(LIMIT).await?);
        if found.is_none() || tried == TRIES {
            return Ok(found);
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(None)
}

/// Returns the name of the last file of the log that Postgres has read.
fn last_read(log: &str) -> Option<&str> {
    let names = log.lines().rev().filter_map(|line| line.split_once(GOT)?.1.split('"').next());
    names.into_iter().find(|name| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the file after `last`, if `listed` has later ones of its timeline and not this one.
fn gap_after(last: &str, listed: &str) -> Option<String> {
    let files: BTreeSet<(&str, &str)> = listed
        .lines()
        .filter_map(|path| {
            let (name, rest) = path.rsplit('/').next()?.split_once('-')?;
            // The checksum, and how it is compressed.
            let is_of_log = is_name(name) && rest.matches('.').count() < 2;
            is_of_log.then_some((path.split('/').next()?, name))
        })
        .collect();
    // After an upgrade there are those of several databases.
    let (database, _) = files.iter().rev().find(|(_, name)| *name == last)?;
    let next = successor(last)?;
    let of_timeline =
        files.iter().filter(|(of, name)| of == database && name[..TIMELINE] == last[..TIMELINE]);
    let is_later = of_timeline.clone().any(|(_, name)| **name > *next);
    (is_later && !of_timeline.clone().any(|(_, name)| **name == *next)).then_some(next)
}

/// Returns the name of the file after `name`. Source: PostgreSQL, `access/xlog_internal.h`, with files of 16 MiB.
fn successor(name: &str) -> Option<String> {
    let (timeline, place) = name.split_at_checked(TIMELINE)?;
    let (high, low) = place.split_at_checked(TIMELINE)?;
    let [high, low] = [high, low].map(|part| u64::from_str_radix(part, 16).ok());
    let next = (high? << 8 | low?) + 1;
    Some(format!("{timeline}{:08X}{:08X}", next >> 8, next & 0xff))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(names: &[&str]) -> String {
        names.iter().map(|name| format!("17-1/{}/{name}-0123abcd.zst\n", &name[..16])).collect()
    }

    #[test]
    fn a_file_is_missing_if_there_are_later_ones() {
        let [a, b, c, d] = [
            "0000000100000000000000FE",
            "0000000100000000000000FF",
            "000000010000000100000000",
            "000000020000000100000001",
        ];
        for (last, names, expected) in [
            (a, &[a, b, c][..], None),
            (a, &[a], None),
            (a, &[a, c], Some(b)),
            (b, &[a, b], None),
            (b, &[b, d], None),
        ] {
            assert_eq!(gap_after(last, &listed(names)).as_deref(), expected, "{last} of {names:?}");
        }
        assert_eq!(successor(b).as_deref(), Some(c));
        let renamed = format!("{}17-1/x/{b}-0123abcd.zst.lost\n{}", listed(&[a]), listed(&[c]));
        assert_eq!(gap_after(a, &renamed).as_deref(), Some(b));
        let of_another = format!("{}18-2/0000000100000001/{c}-0123abcd.zst", listed(&[a]));
        assert_eq!(gap_after(a, &of_another), None);
    }

    #[test]
    fn the_last_file_is_what_postgres_says() {
        let log = "LOG:  restored log file \"000000010000000000000003\" from archive\n\
                   LOG:  redo done at 0/3000138\nLOG:  restored log file \"00000002.history\" from archive";
        assert_eq!(last_read(log), Some("000000010000000000000003"));
        assert_eq!(last_read("LOG:  ready"), None);
    }
}
