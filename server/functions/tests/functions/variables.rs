//! Variables that single functions see.

use functions::{Secrets, Settings};
use serde_json::Value;

use crate::harness::Project;

const SEEN: &str = "Deno.serve(() => Response.json(Deno.env.toObject()))";
const NAMES: [&str; 5] = ["COMMON", "OF_FILE", "OF_BOTH", "OF_TABLE", "SUPABASE_URL"];

fn secrets(pairs: &[(&str, &str)]) -> Secrets {
    Secrets(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

async fn seen(adjust: impl FnOnce(&mut Settings)) -> [[Value; 5]; 2] {
    let files = [
        ("one/index.ts", SEEN),
        ("two/index.ts", SEEN),
        ("one/.env", "COMMON=file\nOF_FILE=file\nOF_BOTH=file\nSUPABASE_URL=forged\n"),
    ];
    let project = Project::with(&files, |settings| {
        settings.secrets = secrets(&[("COMMON", "all")]);
        let table = secrets(&[("OF_BOTH", "table"), ("OF_TABLE", "table")]);
        settings.functions.get_mut("one").unwrap().env = table;
        adjust(settings);
    })
    .await;
    let (one, two) = tokio::join!(project.get("/one"), project.get("/two"));
    project.functions.stop().await;
    [one, two].map(|response| NAMES.map(|name| response.json()[name].clone()))
}

fn expected(values: [Option<&str>; 4]) -> [Value; 5] {
    let [a, b, c, d] = values.map(Value::from);
    [a, b, c, d, "http://127.0.0.1:54321".into()]
}

#[tokio::test]
async fn a_function_has_variables_of_its_own() {
    let [one, two] = seen(|_| {}).await;
    assert_eq!(one, expected([Some("file"), Some("file"), Some("table"), Some("table")]));
    assert_eq!(two, expected([Some("all"), None, None, None]));
}

#[tokio::test]
async fn a_named_file_precedes_the_variables_of_single_functions() {
    let [one, two] = seen(|settings| {
        let flag = secrets(&[("COMMON", "flag"), ("OF_BOTH", "flag")]);
        settings.secrets = flag.clone();
        settings.env_file = Some(flag);
    })
    .await;
    assert_eq!(one, expected([Some("flag"), None, Some("flag"), Some("table")]));
    assert_eq!(two, expected([Some("flag"), None, Some("flag"), None]));
}
