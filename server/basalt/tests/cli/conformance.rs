//! `basalt conformance` and `basalt swap check`, with a program in place of npx that prints its arguments and
//! variables.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::{Server, basalt, project, text};

/// Returns `command` with a replacement for npx, which is in `folder`.
fn with_npx(mut command: Command, folder: &std::path::Path) -> Command {
    let npx = folder.join("npx");
    fs::write(&npx, "#!/bin/sh\necho \"$@\"\nenv | grep -E '^(SUPABASE|DATABASE)_' | sort\n").unwrap();
    fs::set_permissions(&npx, fs::Permissions::from_mode(0o755)).unwrap();
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command.env_remove("SUPABASE_URL");
    command
}

#[test]
fn the_kit_gets_the_address_and_keys_of_the_running_server() {
    let (project, folder) = (project(), tempfile::tempdir().unwrap());
    let call = |arguments: &[&str]| {
        let mut command = with_npx(basalt(project.path()), folder.path());
        let output = command.args(arguments).output().unwrap();
        (output.status.success(), text(&output))
    };
    let package = concat!("--yes basalt-conformance@", env!("CARGO_PKG_VERSION"));
    let (is_found, printed) = call(&["conformance", "--only", "rest"]);
    assert!(!is_found && printed.contains("no server of this project is running"), "{printed}");
    // For another server, no running server is needed; for the help, neither.
    let (is_found, printed) = call(&["conformance", "--url=http://x", "--anon-key", "k"]);
    assert!(
        is_found && printed.starts_with(&format!("{package} --url=http://x --anon-key k\n")),
        "{printed}"
    );
    assert!(!printed.contains("SUPABASE_URL"), "{printed}");
    assert!(call(&["conformance", "--help"]).1.contains(&format!("{package} --help")));
    let (is_found, printed) = call(&["swap", "check", "--url", "http://x"]);
    let root = project.path().display();
    assert!(
        is_found && printed.contains(&format!("{package} swap check --project {root} --url http://x")),
        "{printed}"
    );

    let served = Server::start(project.path());
    let (is_found, printed) = call(&["conformance", "--only", "rest"]);
    assert!(is_found && printed.starts_with(&format!("{package} --only rest\n")), "{printed}");
    assert!(
        printed.contains(&format!("SUPABASE_URL={}\n", served.origin.trim_end_matches('/'))),
        "{printed}"
    );
    for variable in ["SUPABASE_ANON_KEY=ey", "SUPABASE_SERVICE_ROLE_KEY=ey", "DATABASE_URL=postgresql://"] {
        assert!(printed.contains(variable), "{variable}: {printed}");
    }
    served.stop();
}
