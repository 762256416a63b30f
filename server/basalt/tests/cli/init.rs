//! New projects: from an empty folder to a row, a function's response and a page.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::{Server, status, text};

fn init(folder: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_basalt")).arg("init").arg(folder).output().unwrap();
    (output.status.success(), text(&output))
}

#[test]
fn a_new_project_has_a_table_with_policies_a_function_and_a_page() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("guest book");
    let (done, printed) = init(&folder);
    assert!(
        done && printed.contains("guest-book") && printed.contains("npm install\n  basalt serve"),
        "{printed}"
    );
    let library = folder.join("node_modules/@supabase/supabase-js/dist/umd");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("supabase.js"), "var supabase").unwrap();

    let served = Server::start(&folder);
    let key = status(&folder).remove("ANON_KEY").unwrap();
    let headers =
        format!("apikey: {key}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n");
    let ask = |target: &str, body: &str| {
        let (head, body) = served.request(target, &headers, body);
        (head.split(' ').nth(1).unwrap().to_owned(), body)
    };
    assert_eq!(ask("POST /rest/v1/notes", r#"{"body":"first"}"#).0, "201");
    let (refused, reason) = ask("POST /rest/v1/notes", r#"{"body":"hidden","hidden":true}"#);
    assert!(refused == "401" && reason.contains("row-level security"), "{refused} {reason}");
    let (refused, reason) = ask("DELETE /rest/v1/notes?id=gt.0", "");
    assert!(refused == "204" || reason.contains("permission denied"), "{refused} {reason}");
    let (_, rows) = ask("GET /rest/v1/notes?select=body&order=id", "");
    assert_eq!(rows, "[{\"body\":\"This note is from supabase/seed.sql\"}, \n {\"body\":\"first\"}]");

    // Without a token, as the page calls it.
    let (_, response) = served.request("POST /functions/v1/hello", "", r#"{"name":"Ada"}"#);
    assert_eq!(response, r#"{"message":"Hello Ada!"}"#);

    let (status, page) = served.get("/");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(page.contains(&served.key) && page.contains(&served.origin), "its server is in it: {page}");
    for file in page.split('"').filter(|part| part.ends_with(".js") || part.ends_with(".css")) {
        let (status, content) = served.get(&format!("/{file}"));
        assert!(status == "HTTP/1.1 200 OK" && !content.contains("<html"), "{file}: {status} {content}");
    }
    assert_eq!(served.get("/supabase.js").1, "var supabase");
    assert_eq!(served.get("/elsewhere").0, "HTTP/1.1 404 Not Found");

    // npm repeats a Ctrl-C in this way.
    served.signal(rustix::process::Signal::INT);
    std::thread::sleep(Duration::from_millis(20));
    served.signal(rustix::process::Signal::INT);
    served.wait();
    assert!(!folder.join(".basalt/postgres/postmaster.pid").exists(), "Postgres was not waited for");
}

#[test]
fn a_folder_with_a_project_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    std::fs::write(folder.path().join("README.md"), "mine").unwrap();
    let (done, printed) = init(folder.path());
    assert!(done && printed.contains("Kept as they were: README.md."), "{printed}");
    assert_eq!(read("README.md"), "mine");
    std::fs::write(folder.path().join("site/page.js"), "mine").unwrap();
    let (done, printed) = init(folder.path());
    assert!(!done && printed.contains("supabase/config.toml exists already"), "{printed}");
    assert_eq!(read("site/page.js"), "mine");
    std::fs::remove_dir_all(folder.path().join("supabase")).unwrap();
    let (done, printed) = init(folder.path());
    assert!(
        !done && printed.contains("site exists already") && !folder.path().join("supabase").exists(),
        "{printed}"
    );
}
