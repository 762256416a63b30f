//! Settings of edge functions: `[edge_runtime]`, `[functions.<name>]`, and in `[basalt.functions]` what only Basalt has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use functions::{Function, Limits, Secrets, Settings};

use super::value::Bytes;
use super::{Environment, Invalid, Project, Reader};

/// Variables with this prefix are the platform's; secrets cannot have such names, as with the CLI.
const OF_PLATFORM: &str = "SUPABASE_";

/// Reads all but the secrets. State lies in `data_dir`.
pub(super) fn read(reader: &mut Reader<'_>, project: &Project, data_dir: &Path) -> Result<Settings, Invalid> {
    let path: Option<PathBuf> = reader.get("basalt.functions_path", &["BASALT_FUNCTIONS_PATH"])?;
    let ahead: Option<Vec<String>> = reader.get("basalt.functions.ahead", &[])?;
    let mut functions = BTreeMap::new();
    for name in reader.tables(&["functions"]) {
        functions.insert(name.clone(), function(reader, project, &name)?);
    }
    let current = std::env::current_dir().ok();
    let beside = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_owned));
    Ok(Settings {
        folder: project.resolve(path.unwrap_or_else(|| PathBuf::from("functions"))),
        functions,
        secrets: Secrets::default(),
        deno: reader.get("", &["DENO"])?,
        projects: [Some(project.root.clone()), current, beside].into_iter().flatten().collect(),
        cache: data_dir.join("deno"),
        ahead: ahead.unwrap_or_default(),
        schedules: schedules(reader)?,
        watch: false,
        limits: limits(reader)?,
    })
}

fn function(reader: &mut Reader<'_>, project: &Project, name: &str) -> Result<Function, Invalid> {
    let key = |part| ["functions", name, part];
    let default = Function::default();
    let entry_point: Option<PathBuf> = reader.get_at(&key("entrypoint"), &[])?;
    let import_map: Option<PathBuf> = reader.get_at(&key("import_map"), &[])?;
    let static_files: Option<Vec<String>> = reader.get_at(&key("static_files"), &[])?;
    Ok(Function {
        enabled: reader.get_at(&key("enabled"), &[])?.unwrap_or(default.enabled),
        verify_jwt: reader.get_at(&key("verify_jwt"), &[])?.unwrap_or(default.verify_jwt),
        entry_point: entry_point.map(|path| project.resolve(path)),
        import_map: import_map.map(|path| project.resolve(path)),
        static_files: project.glob(&static_files.unwrap_or_default()),
    })
}

fn schedules(reader: &mut Reader<'_>) -> Result<BTreeMap<String, Duration>, Invalid> {
    let table = ["basalt", "functions", "schedules"];
    let mut schedules = BTreeMap::new();
    for name in reader.names(&table) {
        if let Some(every) = reader.get_at(&[table[0], table[1], table[2], &name], &[])? {
            schedules.insert(name, every);
        }
    }
    Ok(schedules)
}

fn limits(reader: &mut Reader<'_>) -> Result<Limits, Invalid> {
    let default = Limits::default();
    let memory: Option<Bytes> = reader.get("basalt.functions.memory_limit", &[])?;
    let mut time = |name: &str, default: Duration| -> Result<Duration, Invalid> {
        Ok(reader.get(&format!("basalt.functions.{name}"), &[])?.unwrap_or(default))
    };
    Ok(Limits {
        memory: memory.map_or(default.memory, |Bytes(bytes)| bytes),
        cpu: time("cpu_limit", default.cpu)?,
        request: time("request_timeout", default.request)?,
        wall_clock: time("wall_clock_limit", default.wall_clock)?,
        boot: time("boot_timeout", default.boot)?,
        socket_silence: time("socket_silence", default.socket_silence)?,
        idle: time("idle_timeout", default.idle)?,
        concurrency: reader.get("basalt.functions.concurrency", &[])?.unwrap_or(default.concurrency).max(1),
        queue: reader.get("basalt.functions.queue", &[])?.unwrap_or(default.queue),
    })
}

/// The variables that functions get to see: those of `env_file`, which stands in the place of `.env` in the functions
/// `folder`, of `[edge_runtime.secrets]` and of the project's `.env` files, the stronger first. What the project's files
/// set for the server itself is not for functions, so this is read last, when all names are known that the server asks
/// for.
///
/// Source: `supabase functions serve` of the Supabase CLI (`internal/functions/serve`, `internal/secrets/set`), to which
/// the project's own `.env` is added.
///
/// Errors: [`Invalid`] for a file that cannot be read or understood.
pub(super) fn secrets(
    reader: &mut Reader<'_>,
    project: &Project,
    folder: &Path,
    env_file: Option<&Path>,
) -> Result<Secrets, Invalid> {
    let mut secrets = BTreeMap::new();
    let mut add = |(name, value): (&str, &str)| {
        if !name.starts_with(OF_PLATFORM) {
            secrets.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
    };
    let own = match env_file {
        Some(path) if !path.is_file() => {
            return Err(Invalid::new("--env-file", "a file that exists", &path.display()));
        }
        Some(path) => path.to_owned(),
        None => folder.join(".env"),
    };
    Environment::of_files([own.as_path()])?.pairs().for_each(&mut add);
    let table = ["edge_runtime", "secrets"];
    for name in reader.names(&table) {
        if let Some(value) = reader.optional_at(&[table[0], table[1], &name])? {
            add((&name, &value));
        }
    }
    let files = [&project.root, &project.base].map(|folder| [folder.join(".env.local"), folder.join(".env")]);
    let common = Environment::of_files(files.iter().flatten().map(PathBuf::as_path))?;
    common.pairs().filter(|(name, _)| !reader.is_ours(name)).for_each(&mut add);
    Ok(Secrets(secrets))
}
