//! Names of types in languages other than TypeScript.

/// Returns a name in `PascalCase`: characters that are neither letters nor digits of ASCII begin words.
pub(crate) fn pascal(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric()).map(capitalized).collect()
}

/// Returns a word with its first letter in upper case.
pub(crate) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_capitalized_and_joined() {
        let names = ["home town", "captain_of", "_id", "point3", "camelCase", "é"];
        assert_eq!(names.map(pascal), ["HomeTown", "CaptainOf", "Id", "Point3", "CamelCase", ""]);
    }
}
