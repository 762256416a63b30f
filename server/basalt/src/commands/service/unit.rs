//! The unit of a project's service: that of the packages with other places.

use std::path::{Path, PathBuf};

use crate::settings::Settings;

/// The unit of the packages.
const TEMPLATE: &str = include_str!("../../../../../deploy/systemd/basalt.service");

/// What a project's unit has in place of lines of the template, by the name before the `=`. Lines of these names that
/// have no replacement are left out.
const REPLACED: [&str; 13] = [
    "Description",
    "Documentation",
    "User",
    "Group",
    "ExecStart",
    "Environment",
    "EnvironmentFile",
    "StateDirectory",
    "StateDirectoryMode",
    "ProtectHome",
    "PrivateUsers",
    "CapabilityBoundingSet",
    "AmbientCapabilities",
];

/// The right to listen on ports below 1024, such as 443. Only outside of a user namespace it has an effect.
const LOW_PORTS: &str = "CAP_NET_BIND_SERVICE";

/// What differs between the units of projects.
#[derive(Debug)]
pub(super) struct Unit {
    name: String,
    user: String,
    program: PathBuf,
    project: PathBuf,
    data_dir: PathBuf,
    /// The names for `--domain`.
    domains: Vec<String>,
    /// Further folders that the server writes to.
    written: Vec<PathBuf>,
}

impl Unit {
    /// Returns the unit for the project of `settings`.
    pub(super) fn of(
        settings: &Settings,
        name: &str,
        user: &str,
        program: &Path,
        domains: Vec<String>,
    ) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let data_dir = absolute(&settings.data_dir);
        let target =
            settings.backup.target.as_deref().map(|name| name.strip_prefix("file://").unwrap_or(name));
        let target = target.filter(|name| !name.contains("://")).map(|name| absolute(Path::new(name)));
        let storage = settings.services.storage.as_ref();
        let objects = storage.map(|storage| absolute(&storage.path));
        let written = [target, objects].into_iter().flatten().filter(|path| !path.starts_with(&data_dir));
        Self {
            name: name.to_owned(),
            user: user.to_owned(),
            program: program.to_owned(),
            project: absolute(&settings.project.root),
            written: written.collect(),
            domains,
            data_dir,
        }
    }

    /// Returns the text of the unit.
    pub(super) fn render(&self) -> String {
        // The text before the first section says how to install the template.
        let body = TEMPLATE.find("[Unit]").and_then(|start| TEMPLATE.get(start..)).unwrap_or(TEMPLATE);
        let mut text =
            format!("# Written by `basalt service install` for {}.\n\n", self.project.to_string_lossy());
        for line in body.lines() {
            match line.split_once('=').map(|(name, _)| name).filter(|name| REPLACED.contains(name)) {
                Some(name) => self.replacements(name).iter().for_each(|line| {
                    text.push_str(line);
                    text.push('\n');
                }),
                None => {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        text
    }

    /// Returns the lines in place of the template's line of this name.
    fn replacements(&self, name: &str) -> Vec<String> {
        let Self { name: service, user, .. } = self;
        let value = match name {
            "Description" => format!("Basalt ({})", specifier_free(&self.project)),
            "User" => user.clone(),
            "ExecStart" => {
                let [program, project, data_dir] =
                    [&self.program, &self.project, &self.data_dir].map(|path| command_word(path));
                // A domain has no character that needs quotes.
                let domains: String = self.domains.iter().map(|name| format!(" --domain {name}")).collect();
                format!("{program} serve --project {project} --data-dir {data_dir}{domains}")
            }
            // Where sockets are whose path would be too long in the data folder: /tmp is the service's own.
            "Environment" => {
                return vec![
                    format!("RuntimeDirectory={service}"),
                    "RuntimeDirectoryMode=0700".to_owned(),
                    format!("Environment=XDG_RUNTIME_DIR=%t/{service}"),
                ];
            }
            "EnvironmentFile" => format!("-/etc/basalt/{service}.env"),
            // With a `-`, a folder may be missing: it is then not written to either.
            "StateDirectory" => {
                let written = self.written.iter().map(|path| format!("ReadWritePaths=-{}", path_word(path)));
                let own = format!("ReadWritePaths={}", path_word(&self.data_dir));
                return std::iter::once(own).chain(written).collect();
            }
            "ProtectHome" => if self.needs_homes() { "read-only" } else { "yes" }.to_owned(),
            "CapabilityBoundingSet" | "AmbientCapabilities" => LOW_PORTS.to_owned(),
            _ => return Vec::new(),
        };
        vec![format!("{name}={value}")]
    }

    /// Reports whether something of the service is in a home, which `ProtectHome=yes` hides.
    fn needs_homes(&self) -> bool {
        let own = [&self.program, &self.project, &self.data_dir].into_iter().chain(&self.written);
        let homes = ["/home", "/root", "/run/user"];
        own.into_iter().any(|path| homes.iter().any(|home| path.starts_with(home)))
    }
}

/// Checks the name of a service, for clap.
pub(super) fn check_name(name: &str) -> Result<String, String> {
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match begins && name.chars().all(known) && name.len() <= 64 && !name.ends_with(".service") {
        true => Ok(name.to_owned()),
        false => Err("expected letters, digits, `-`, `_` and `.`, without .service at the end".to_owned()),
    }
}

/// Escapes what systemd would replace. Source: systemd.unit(5), "Specifiers".
fn specifier_free(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%")
}

/// Quotes a path as one word. Source: systemd.syntax(7), "Quoting".
fn path_word(path: &Path) -> String {
    let text = specifier_free(path);
    match text.chars().all(|c| c.is_alphanumeric() || "-._/%+,:@".contains(c)) {
        true => text,
        false => format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\"")),
    }
}

/// Quotes a path as one word of a command line, in which variables are replaced, too. Source: systemd.service(5),
/// "Command lines".
fn command_word(path: &Path) -> String {
    path_word(path).replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(project: &str) -> Unit {
        Unit {
            name: "shop".to_owned(),
            user: "alice".to_owned(),
            program: PathBuf::from("/usr/local/bin/basalt"),
            project: PathBuf::from(project),
            data_dir: Path::new(project).join(".basalt"),
            domains: vec!["api.example.org".to_owned(), "b.example.org".to_owned()],
            written: vec![PathBuf::from("/backups")],
        }
    }

    #[test]
    fn the_template_has_every_line_that_is_replaced_once() {
        for name in REPLACED {
            let lines = TEMPLATE.lines().filter(|line| line.starts_with(&format!("{name}=")));
            assert_eq!(lines.count(), 1, "{name}");
        }
    }

    #[test]
    fn a_unit_has_the_places_of_its_project_and_the_rules_of_the_template() {
        let text = unit("/srv/shop").render();
        for line in [
            "Type=notify",
            "User=alice",
            "ExecStart=/usr/local/bin/basalt serve --project /srv/shop --data-dir /srv/shop/.basalt --domain api.example.org \
             --domain b.example.org",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "EnvironmentFile=-/etc/basalt/shop.env",
            "ReadWritePaths=/srv/shop/.basalt",
            "ReadWritePaths=-/backups",
            "ProtectSystem=strict",
            "ProtectHome=yes",
            "NoNewPrivileges=yes",
            "AmbientCapabilities=CAP_NET_BIND_SERVICE",
            "UMask=0077",
            "WantedBy=multi-user.target",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        for absent in ["/srv/basalt", "/var/lib/basalt", "BASALT_TRUSTED_PROXIES", "PrivateUsers", "Group="] {
            assert!(!text.contains(absent), "{absent}\n{text}");
        }
        assert!(!text.lines().any(|line| line.starts_with("MemoryDenyWriteExecute")), "Deno needs it off");
    }

    #[test]
    fn a_folder_in_a_home_is_visible_and_any_name_is_one_word() {
        let text = unit("/home/al ice/50% \"$off\"").render();
        assert!(text.contains("ProtectHome=read-only\n"), "{text}");
        assert!(text.contains(r#"--project "/home/al ice/50%% \"$$off\"" "#), "{text}");
        assert!(text.contains(r#"ReadWritePaths="/home/al ice/50%% \"$off\"/.basalt""#), "{text}");
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["basalt", "shop-2", "a.b_c"] {
            check_name(name).unwrap();
        }
        for name in ["", "../x", "-x", "a b", "basalt.service", "a/b"] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
