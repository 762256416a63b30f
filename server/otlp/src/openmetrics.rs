//! Parses metrics in the text format of OpenMetrics 1.0, as this program writes them.
//!
//! The encoder of `prometheus_client` cannot be replaced (up to 0.26 it is a private enum), and its registry can be
//! read in no other way. It writes this text, or Prometheus' protobuf with a feature that needs a protobuf compiler at
//! build time (or 15 more crates), and whose messages would have to be converted as well. So the values are parsed from
//! the text.

/// Metrics of one name.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) help: String,
    pub(crate) samples: Vec<Sample>,
}

/// A line with a value.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample {
    /// The end of the name after that of the family: ``, `_total`, `_bucket`, `_sum`, `_count`.
    pub(crate) suffix: String,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) value: f64,
}

/// Parses the metrics in `text`. Other lines are ignored.
pub(crate) fn parse(text: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("# ") {
            Some(comment) => describe(&mut families, comment),
            None => {
                if let Some(family) = families.last_mut() {
                    family.samples.extend(sample(line, &family.name));
                }
            }
        }
    }
    families.retain(|family| !family.samples.is_empty());
    families
}

/// Parses a comment: the type or the help of a family.
fn describe(families: &mut Vec<Family>, comment: &str) {
    let mut words = comment.splitn(3, ' ');
    let (Some(keyword), Some(name), Some(text)) = (words.next(), words.next(), words.next()) else { return };
    if families.last().is_none_or(|family| family.name != name) {
        families.push(Family { name: name.to_owned(), ..Family::default() });
    }
    match (keyword, families.last_mut()) {
        ("TYPE", Some(family)) => text.clone_into(&mut family.kind),
        ("HELP", Some(family)) => text.clone_into(&mut family.help),
        _ => {}
    }
}

/// Parses a line with a value of `family`.
fn sample(line: &str, family: &str) -> Option<Sample> {
    let rest = line.strip_prefix(family)?;
    let (suffix, rest) = rest.split_at(rest.find(['{', ' '])?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(inner) => labels(inner)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    let value = if value == "+Inf" { f64::INFINITY } else { value.parse().ok()? };
    Some(Sample { suffix: suffix.to_owned(), labels, value })
}

/// Parses the labels at the beginning of `text`; returns them and the rest after their `}`.
fn labels(text: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(',');
        if let Some(behind) = rest.strip_prefix('}') {
            return Some((labels, behind));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next()? {
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &quoted[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family as Labelled;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn written_metrics_are_parsed() {
        let mut registry = Registry::with_prefix("shop");
        let sold: Labelled<[(String, String); 2], Counter> = Labelled::default();
        let labels =
            [("what".to_owned(), "a \"lamp\", \\ {big}\n".to_owned()), ("to".to_owned(), String::new())];
        sold.get_or_create(&labels).inc_by(7);
        registry.register("sold", "Things sold", sold);
        let stock: Gauge = Gauge::default();
        stock.set(-3);
        registry.register("stock", "Things left", stock);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        let families = parse(&text);
        let [sold, stock] = &families[..] else { panic!("{families:?}") };
        assert_eq!(
            (sold.name.as_str(), sold.kind.as_str(), sold.help.as_str()),
            ("shop_sold", "counter", "Things sold.")
        );
        let expected = Sample { suffix: "_total".to_owned(), labels: labels.to_vec(), value: 7.0 };
        assert_eq!(sold.samples, [expected]);
        assert_eq!((stock.kind.as_str(), stock.samples[0].value), ("gauge", -3.0));
    }
}
