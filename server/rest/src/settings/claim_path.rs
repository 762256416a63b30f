//! Where in a token's claims the role is: a JSON path.
//!
//! Source: PostgREST's documentation, "JWT Role Extraction"; RFC 9535.

mod former;

use std::borrow::Cow;

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use former::FormerPath;

/// A path to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPath {
    text: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// A claim by its name, as nearly everyone has it: found where the claims are, without a copy of them.
    Claim(String),
    /// Any other path as the RFC has it.
    Path(JsonPath),
    /// A path in the form of PostgREST before 16.
    Former(FormerPath),
}

impl Default for ClaimPath {
    fn default() -> Self {
        Self { text: "$.role".to_owned(), form: Form::Claim("role".to_owned()) }
    }
}

impl ClaimPath {
    /// Returns the first value that the path leads to from the claims.
    pub fn find<'v>(&self, claims: &'v Map<String, Value>) -> Option<Cow<'v, Value>> {
        match &self.form {
            Form::Claim(name) => claims.get(name).map(Cow::Borrowed),
            Form::Path(path) => path.query(&Value::Object(claims.clone())).first().cloned().map(Cow::Owned),
            Form::Former(path) => path.find(claims).map(Cow::Borrowed),
        }
    }

    /// Returns the path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Reports whether it is in a form that PostgREST is to give up.
    pub(crate) const fn is_deprecated(&self) -> bool {
        matches!(self.form, Form::Former(_))
    }
}

impl ::settings::Value for ClaimPath {
    const EXPECTED: &'static str = "a path such as $.role or $.app_metadata.roles[0]";

    fn from_text(text: &str) -> Option<Self> {
        let is_name = |name: &&str| {
            let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
            name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        };
        let form = match (text.strip_prefix("$.").filter(is_name), JsonPath::parse(text)) {
            (Some(name), _) => Form::Claim(name.to_owned()),
            (None, Ok(path)) => Form::Path(path),
            (None, Err(_)) => Form::Former(text.parse().ok()?),
        };
        Some(Self { text: text.to_owned(), form })
    }

    fn show(&self) -> Option<String> {
        Some(self.text.clone())
    }
}

#[cfg(test)]
mod tests {
    use ::settings::Value as _;
    use serde_json::json;

    use super::*;

    fn find(path: &str) -> Option<String> {
        let Value::Object(claims) = json!({
            "role": "one",
            "app": { "roles": ["admin", "editor", "web_user"], "my-role": "two", "a.b": "three" },
            "https://www.example.com/role": { "key": "author" },
            "grants": [{ "on": "shop", "role": "clerk" }, { "on": "desk", "role": "judge" }],
        }) else {
            unreachable!()
        };
        let path = ClaimPath::from_text(path).unwrap();
        path.find(&claims).and_then(|role| role.as_str().map(str::to_owned))
    }

    #[test]
    fn paths_lead_to_claims() {
        for (path, role) in [
            ("$.role", "one"),
            ("$['role']", "one"),
            ("$.app.roles[0]", "admin"),
            ("$.app.roles[-1]", "web_user"),
            ("$.app['my-role']", "two"),
            ("$['app'][\"a.b\"]", "three"),
            ("$['https://www.example.com/role'].key", "author"),
            ("$.app.roles[*]", "admin"),
            ("$.app.roles[1:]", "editor"),
            ("$.app.roles[?@ == 'editor']", "editor"),
            ("$.app.roles[?(@ == 'editor')]", "editor"),
            ("$.app.roles[?search(@, '^web')]", "web_user"),
            ("$.app.roles[?search(@, 'tor$')]", "editor"),
            ("$.grants[?@.on == 'desk' && @.role != 'clerk'].role", "judge"),
            ("$..key", "author"),
        ] {
            assert_eq!(find(path).as_deref(), Some(role), "{path}");
            assert!(!ClaimPath::from_text(path).unwrap().is_deprecated(), "{path}");
        }
        for path in
            ["$.nobody", "$.role.x", "$.app.roles[7]", "$.app.roles[-9]", "$.app.roles[?@=='x']", "$[0]", "$"]
        {
            assert_eq!(find(path), None, "{path}");
        }
    }

    #[test]
    fn the_former_form_is_still_understood() {
        for (path, role) in [(".role", "one"), (".app.roles[?(@ ^== \"web\")]", "web_user")] {
            assert_eq!(find(path).as_deref(), Some(role), "{path}");
            assert!(ClaimPath::from_text(path).unwrap().is_deprecated(), "{path}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for path in ["", "role", "$.", "$.a[", "$.a[]", "$.a b", "$.a[?search(@)]", ".a[?(@ = \"x\")]"] {
            assert!(ClaimPath::from_text(path).is_none(), "{path}");
        }
    }
}
