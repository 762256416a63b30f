//! Foreign and primary keys of views: those of the tables that their columns come from, through views of views.
//!
//! Postgres keeps for each column of a view which column of which relation it is, unless it is computed
//! (`resorigtbl` and `resorigcol` of a `TargetEntry`). Source: PostgreSQL's `src/include/nodes/primnodes.h`.

use std::collections::HashMap;

use super::{Catalog, ForeignKey, QualifiedName, Relation};

/// How many views on views are followed. Postgres allows no cycle, but one in the catalog must not loop for ever.
const MAX_DEPTH: usize = 32;

/// A view that shows the columns of a key more than once holds the key in as many ways as they can be combined, of
/// which these are enough.
const MAX_COMBINATIONS: usize = 64;

/// A column of a query and the relation's column that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    number: u32,
    origin: (u32, u32),
}

/// The columns of a table in a view, and their names there: a view may have a column more than once.
type ViewColumns = HashMap<String, Vec<String>>;

/// A view, and which of its columns are those of a table.
struct Image {
    view: QualifiedName,
    columns: ViewColumns,
}

impl Image {
    /// Returns what `columns` are called first in the view, if it has them all.
    fn first_names<'a>(&self, columns: impl Iterator<Item = &'a String>) -> Option<Vec<String>> {
        columns.map(|column| self.columns.get(column)?.first().cloned()).collect()
    }

    /// Returns what `columns` are called in the view: every combination of their names, none if it does not have them
    /// all.
    fn names<'a>(&self, columns: impl Iterator<Item = &'a String>) -> Vec<Vec<String>> {
        let mut combinations = vec![Vec::new()];
        for column in columns {
            let names = self.columns.get(column).map_or(&[][..], Vec::as_slice);
            let longer = combinations.iter().flat_map(|start| {
                names.iter().map(move |name| [start.as_slice(), std::slice::from_ref(name)].concat())
            });
            combinations = longer.take(MAX_COMBINATIONS).collect();
        }
        combinations
    }
}

/// Adds to `catalog` what its views inherit.
pub(super) fn inherit_keys(catalog: &mut Catalog) {
    let relations: HashMap<u32, &Relation> =
        catalog.relations.iter().map(|relation| (relation.oid, relation)).collect();
    let targets: HashMap<u32, Vec<Target>> = catalog
        .relations
        .iter()
        .filter_map(|relation| Some((relation.oid, targets(relation.definition.as_ref()?))))
        .collect();
    let mut images: HashMap<QualifiedName, Vec<Image>> = HashMap::new();
    let mut primary_keys: HashMap<QualifiedName, Vec<String>> = HashMap::new();
    for view in catalog.relations.iter().filter(|relation| relation.definition.is_some()) {
        for (table, columns) in sources(view, &relations, &targets) {
            let Some(table) = relations.get(&table) else { continue };
            let image = Image { view: view.qualified_name(), columns };
            if let Some(key) = image.first_names(table.primary_key.iter()) {
                primary_keys.entry(view.qualified_name()).or_default().extend(key);
            }
            images.entry(table.qualified_name()).or_default().push(image);
        }
    }
    let inherited: Vec<ForeignKey> =
        catalog.foreign_keys.iter().flat_map(|key| inherited_keys(key, &images)).collect();
    catalog.foreign_keys.extend(inherited);
    for table in catalog.tables.iter_mut().filter(|table| table.primary_key.is_empty()) {
        let name = QualifiedName { schema: table.schema.clone(), name: table.name.clone() };
        table.primary_key = primary_keys.remove(&name).unwrap_or_default();
    }
}

/// Returns the tables that `view` shows columns of, in a stable order, with the view's names of those columns.
fn sources(
    view: &Relation,
    relations: &HashMap<u32, &Relation>,
    targets: &HashMap<u32, Vec<Target>>,
) -> Vec<(u32, ViewColumns)> {
    let mut found: Vec<(u32, ViewColumns)> = Vec::new();
    for target in targets.get(&view.oid).into_iter().flatten() {
        let (table, number) = origin(target.origin, targets);
        let column = relations.get(&table).and_then(|table| table.columns.get(&number));
        let (Some(column), Some(name)) = (column, view.columns.get(&target.number)) else { continue };
        let index = found.iter().position(|(oid, _)| *oid == table).unwrap_or_else(|| {
            found.push((table, ViewColumns::new()));
            found.len() - 1
        });
        found[index].1.entry(column.clone()).or_default().push(name.clone());
    }
    found
}

/// Returns the table's column that `column` of a relation originates from.
fn origin(mut column: (u32, u32), targets: &HashMap<u32, Vec<Target>>) -> (u32, u32) {
    for _ in 0..MAX_DEPTH {
        let next = targets.get(&column.0).and_then(|inner| inner.iter().find(|t| t.number == column.1));
        match next {
            Some(target) => column = target.origin,
            None => break,
        }
    }
    column
}

/// Returns the foreign keys that follow from `key`: between views of its two tables, and between these views and the
/// tables.
fn inherited_keys(key: &ForeignKey, images: &HashMap<QualifiedName, Vec<Image>>) -> Vec<ForeignKey> {
    let sides = |table: &QualifiedName, own: Vec<String>, pick: fn(&(String, String)) -> &String| {
        let views = images.get(table).into_iter().flatten().flat_map(|image| {
            let names = image.names(key.columns.iter().map(pick));
            names.into_iter().map(|names| (image.view.clone(), names))
        });
        std::iter::once((table.clone(), own)).chain(views).collect::<Vec<_>>()
    };
    let (own, referred): (Vec<_>, Vec<_>) = key.columns.iter().cloned().unzip();
    let left = sides(&key.table, own, |pair| &pair.0);
    let right = sides(&key.foreign_table, referred, |pair| &pair.1);
    let mut keys = Vec::new();
    for (table, own) in &left {
        for (foreign_table, referred) in &right {
            if (table, foreign_table) != (&key.table, &key.foreign_table) {
                let columns = own.iter().cloned().zip(referred.iter().cloned()).collect();
                let (table, foreign_table) = (table.clone(), foreign_table.clone());
                keys.push(ForeignKey { table, foreign_table, columns, ..key.clone() });
            }
        }
    }
    keys
}

/// Returns the columns of the outermost query of the node tree `definition` that are columns of relations.
///
/// The tree's text is `({QUERY :commandType 1 … :targetList ({TARGETENTRY :expr {…} :resno 1 … :resorigtbl 16385
/// :resorigcol 1 …} …) …})`, a backslash taking the next character as it is.
fn targets(definition: &str) -> Vec<Target> {
    let mut found = Vec::new();
    let mut depth = 0;
    let mut is_target_list = false;
    let mut number = 0;
    let mut table = 0;
    let mut rest = definition;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '\\' => taken += rest.chars().nth(1).map_or(0, char::len_utf8),
            '{' => depth += 1,
            '}' => depth -= 1,
            ':' if depth <= 2 => {
                let (key, value) = field(&rest[1..]);
                taken += key.len();
                let value_number = || value.parse().unwrap_or(0);
                match (depth, key) {
                    (1, _) => is_target_list = key == "targetList",
                    (2, "resno") if is_target_list => number = value_number(),
                    (2, "resorigtbl") if is_target_list => table = value_number(),
                    (2, "resorigcol") if is_target_list && table != 0 => {
                        found.push(Target { number, origin: (table, value_number()) });
                    }
                    _ => {}
                }
                if !value.starts_with(['{', '(']) {
                    taken += value.len() + usize::from(!value.is_empty());
                }
            }
            _ => {}
        }
        rest = &rest[taken..];
    }
    found
}

/// Returns a field's name and the first word of its value.
fn field(text: &str) -> (&str, &str) {
    let (key, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut is_escaped = false;
    let end = rest.find(|c: char| {
        let ends = !is_escaped && matches!(c, ' ' | '}' | ')');
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    (key, end.map_or(rest, |end| &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_the_outermost_query_alone() {
        let inner = "{QUERY :targetList ({TARGETENTRY :expr {VAR :varno 1} :resno 1 :resname x :resorigtbl 7 \
                     :resorigcol 8 :resjunk false})}";
        let tree = format!(
            "({{QUERY :commandType 1 :rtable ({{RTE :alias <> :subquery {inner} :inh true}}) :targetList \
             ({{TARGETENTRY :expr {{SUBLINK :subselect {inner} :location 5}} :resno 1 :resname odd\\ \\{{name \
             :ressortgroupref 0 :resorigtbl 0 :resorigcol 0 :resjunk false}} {{TARGETENTRY :expr {{VAR :varno 1}} \
             :resno 2 :resname :resno :ressortgroupref 0 :resorigtbl 16385 :resorigcol 3 :resjunk false}}) \
             :override 0}})"
        );
        assert_eq!(targets(&tree), [Target { number: 2, origin: (16385, 3) }]);
    }

    #[test]
    fn truncated_trees_are_no_problem() {
        for tree in ["", "({QUERY :targetList", "({QUERY :targetList ({TARGETENTRY :resno", "\\", ":"] {
            assert!(targets(tree).is_empty(), "{tree}");
        }
    }
}
