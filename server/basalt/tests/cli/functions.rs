//! Edge functions: their creation, their calls and their variables.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{Server, basalt, project, status, text, write_file};

#[test]
fn functions_are_created_and_listed() {
    let project = project();
    let run = |arguments: &[&str]| basalt(project.path()).arg("functions").args(arguments).output().unwrap();
    let made = run(&["new", "greet"]);
    assert!(made.status.success() && text(&made).contains("/functions/v1/greet"), "{}", text(&made));
    let source = std::fs::read_to_string(project.path().join("supabase/functions/greet/index.ts")).unwrap();
    assert!(source.contains("Deno.serve"), "{source}");
    for (name, reason) in [("greet", "exists already"), ("../greet", "expected the name of a function")] {
        let refused = run(&["new", name]);
        assert!(!refused.status.success() && text(&refused).contains(reason), "{}", text(&refused));
    }
    let listed = run(&["list"]);
    let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
    let names: Vec<&str> = lines.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["greet", "hello"]);
    assert!(lines.contains("needs a token"), "{lines}");
}

/// Returns a project with variables from every possible source, and some that functions must not see.
fn project_with_variables() -> tempfile::TempDir {
    let project = project();
    let write = |name: &str, text: &str| {
        let path = project.path().join("supabase").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("functions/seen/index.ts", "Deno.serve(() => Response.json(Deno.env.toObject()))");
    write("functions/seen/.env", "OF_ONE=1");
    write("functions/hello/.env", "OF_ANOTHER=1");
    write("functions/.env", "OWN=functions\nCONFIGURED=functions\nSUPABASE_URL=elsewhere");
    write("extra.env", "OWN=flag\nEXTRA='two words'\nSUPABASE_ANON_KEY=forged");
    write(".env", "OWN=project\nPLAIN=project\nSMTP_PASSWORD=hunter2\nGOTRUE_SMTP_PASS=hunter2\n");
    write(
        "config.toml",
        "project_id = 'shop'\n[edge_runtime.secrets]\nOWN = 'config'\nCONFIGURED = 'config'\n\
         [auth.email.smtp]\nenabled = false\npass = 'env(SMTP_PASSWORD)'\n\
         [functions.seen]\nverify_jwt = false",
    );
    project
}

#[test]
fn functions_see_the_variables_of_their_file_and_none_of_the_server() {
    let project = project_with_variables();
    let extra = project.path().join("supabase/extra.env");
    let file = ["--env-file", extra.to_str().unwrap()];
    let of_file = [("OWN", "flag"), ("EXTRA", "two words"), ("CONFIGURED", "config"), ("PLAIN", "project")];
    let of_folder =
        [("OWN", "functions"), ("CONFIGURED", "functions"), ("PLAIN", "project"), ("OF_ONE", "1")];
    // Variables for the network, and those that Deno itself sets. PATH is set in the process, too.
    let of_machine =
        ["DENO_NODE_SHIM_ACTIVE", "NODE_EXTRA_CA_CERTS", "PATH", "SSL_CERT_DIR", "SSL_CERT_FILE"];
    let path = format!("{}:/hunter2", std::env::var("PATH").unwrap_or_default());
    for (arguments, expected) in [
        ([&["functions", "serve"][..], &file].concat(), &of_file[..]),
        ([&["serve"][..], &file].concat(), &of_file),
        (vec!["functions", "serve"], &of_folder),
    ] {
        let mut command = basalt(project.path());
        command.env("JWT_SECRET", "hunter2, with at least thirty-two bytes");
        command.env("PGPASSWORD", "hunter2").env("AWS_SECRET_ACCESS_KEY", "hunter2");
        command.env("PATH", &path).env("PLAIN", "server");
        let served = Server::ready(Server::launch_with(command, &arguments));
        let (_, seen) = served.get("/functions/v1/seen");
        assert!(!seen.contains("hunter2"), "{seen}");
        let mut seen: BTreeMap<String, String> = serde_json::from_str(&seen).unwrap();
        assert_eq!(seen["SUPABASE_URL"], served.origin);
        assert!(seen["SUPABASE_ANON_KEY"].starts_with("eyJ"), "{}", seen["SUPABASE_ANON_KEY"]);
        for (name, value) in expected {
            assert_eq!(seen.remove(*name).as_deref(), Some(*value), "{name} with {arguments:?}");
        }
        seen.retain(|name, _| {
            let of_platform = name.starts_with("SUPABASE_")
                || ["SB_REGION", "MAIL_URL", "MAIL_KEY"].contains(&name.as_str());
            let is_proxy = name.to_ascii_uppercase().ends_with("_PROXY");
            !of_platform && !is_proxy && !of_machine.contains(&name.as_str())
        });
        assert!(seen.is_empty(), "{:?} with {arguments:?}", seen.keys());
        served.stop();
    }
    let nowhere = ["functions", "serve", "--env-file", "/nowhere/.env"];
    let refused = basalt(project.path()).args(nowhere).output().unwrap();
    let reason = "--env-file: expected a file that exists";
    assert!(!refused.status.success() && text(&refused).contains(reason), "{}", text(&refused));
}

#[test]
fn a_running_server_serves_functions_as_another_command_asks() {
    let project = project();
    let write = |name: &str, text: &str| write_file(project.path(), name, text);
    let source = |text: &str| {
        format!(
            "console.log('{text} starts')\nDeno.serve(() => new Response(`{text} ${{Deno.env.get('WORD')}}`))"
        )
    };
    write("functions/seen/index.ts", &source("old"));
    write("functions/.env", "WORD=common");
    write("extra.env", "WORD=flag");
    let served = Server::start(project.path());
    let key = status(project.path()).remove("ANON_KEY").unwrap();
    let headers = format!("Authorization: Bearer {key}\r\n");
    let call = |headers: &str| served.request("GET /functions/v1/seen", headers, "").1;
    assert_eq!(call(&headers), "old common");
    assert!(call("").contains("UNAUTHORIZED_NO_AUTH_HEADER"));
    let mut command = basalt(project.path());
    let extra = project.path().join("supabase/extra.env");
    command.args(["functions", "serve", "--no-verify-jwt", "--env-file", extra.to_str().unwrap()]);
    let mut session = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(session.stdout.take().unwrap()).lines().map(Result::unwrap);
    let announced = lines.next().unwrap();
    assert!(announced.contains(&format!("{}/functions/v1/<name>", served.origin)), "{announced}");
    assert_eq!(call(""), "old flag");
    assert!(lines.any(|line| line == "[seen] old starts"));
    let second = basalt(project.path()).args(["functions", "serve"]).output().unwrap();
    let reason = "another `basalt functions serve` of this project is running";
    assert!(!second.status.success() && text(&second).contains(reason), "{}", text(&second));
    write("functions/seen/index.ts", &source("new"));
    served.wait_until("/functions/v1/seen", "new flag");
    assert!(lines.any(|line| line == "[seen] new starts"));
    let pid = rustix::process::Pid::from_child(&session);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(session.wait().unwrap().success());
    let deadline = std::time::Instant::now() + super::PATIENCE;
    while call(&headers) != "new common" {
        assert!(std::time::Instant::now() < deadline, "the session does not end");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(call("").contains("UNAUTHORIZED_NO_AUTH_HEADER"));
    served.stop();
}

#[test]
fn a_new_function_can_be_called_from_other_origins() {
    let project = project();
    let made = basalt(project.path()).args(["functions", "new", "greet"]).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
    let served = Server::start(project.path());
    let headers = "Origin: https://example.com\r\nAccess-Control-Request-Method: POST\r\n\
                 Access-Control-Request-Headers: apikey,authorization,content-type,x-client-info\r\n";
    let (head, _) = served.request("OPTIONS /functions/v1/greet", headers, "");
    let head = head.to_lowercase();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let header =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap_or("");
    assert_eq!(header("access-control-allow-origin"), "*");
    for name in ["apikey", "authorization", "content-type", "x-client-info"] {
        assert!(header("access-control-allow-headers").contains(name), "{head}");
    }
    let key = status(project.path()).remove("ANON_KEY").unwrap();
    let headers = format!("Origin: https://example.com\r\nAuthorization: Bearer {key}\r\n");
    for (body, greeting) in [("{\"name\":\"Ada\"}", "Hello Ada!"), ("no JSON", "Hello world!")] {
        let (head, body) = served.request("POST /functions/v1/greet", &headers, body);
        assert!(head.to_lowercase().contains("access-control-allow-origin: *"), "{head}");
        assert_eq!(body, format!("{{\"message\":\"{greeting}\"}}"));
    }
    served.stop();
}

#[test]
fn a_missing_deno_is_reported_at_the_start() {
    let project = project();
    let remedy = "1 function cannot be called. Edge functions run on Deno, and the file that the variable DENO names is not there";
    let log = project.path().join("log");
    let mut command = basalt(project.path());
    command.args(["serve", "--port", "0"]).env("DENO", "/nowhere/deno").env("BASALT_LOG_FORMAT", "text");
    command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
    let served = Server::ready(command.spawn().unwrap());
    let log_text = std::fs::read_to_string(&log).unwrap();
    assert!(log_text.contains(remedy), "{log_text}");
    served.stop();
    let doctor = basalt(project.path()).arg("doctor").env("DENO", "/nowhere/deno").output().unwrap();
    assert!(doctor.status.success() && text(&doctor).contains(remedy), "{}", text(&doctor));
}
