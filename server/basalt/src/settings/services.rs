//! Settings of the services, under their upstream names.

use std::path::Path;

use embedded::Search;
use settings::{Invalid, Reader};

use super::Project;

/// The folder of mails in the data folder, used if no mail server is configured.
const MAIL_FOLDER: &str = "mail";

/// A part of Basalt that can be run or left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Service {
    /// `/rest/v1`: tables, views and functions.
    Rest,
    /// `/auth/v1`: users, sessions, tokens.
    Auth,
    /// `/storage/v1`: buckets and objects.
    Storage,
    /// `/realtime/v1`: channels.
    Realtime,
    /// `/functions/v1`: edge functions.
    Functions,
    /// `/v1`: the platform interface.
    Platform,
    /// `/`: the site.
    Site,
}

/// Settings of the services; `None` for a service that is disabled.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    /// `[api]`, `PGRST_*`.
    pub(crate) rest: Option<rest::Settings>,
    /// `[auth]`, `GOTRUE_*`.
    pub(crate) auth: Option<auth::Settings>,
    /// `[storage]`.
    pub(crate) storage: Option<storage::Settings>,
    /// `[realtime]`.
    pub(crate) realtime: Option<realtime::Settings>,
    /// `[edge_runtime]`, `[functions.*]`.
    pub(crate) functions: Option<functions::Settings>,
    /// Connections of `rest`.
    pub(crate) connections: rest::Connections,
    /// Issuers whose tokens all services except `auth` accept. `[auth.third_party]`. Default: none.
    pub(crate) third_parties: Vec<String>,
}

settings::settings! {
    /// Which services are enabled.
    pub(super) struct Switches {
        /// Whether `/rest/v1` is served.
        #[setting(variables = [], key = "api.enabled")]
        rest: bool = true,
        /// Whether `/auth/v1` is served.
        #[setting(variables = [], key = "auth.enabled")]
        auth: bool = true,
        /// Whether `/storage/v1` is served.
        #[setting(variables = [], key = "storage.enabled")]
        storage: bool = true,
        /// Whether `/realtime/v1` is served.
        #[setting(variables = [], key = "realtime.enabled")]
        realtime: bool = true,
        /// Whether `/functions/v1` is served.
        #[setting(variables = [], key = "edge_runtime.enabled")]
        functions: bool = true,
    }
}

impl Services {
    /// Reads all of them. Relative paths start from `project`, state is in `data_dir`.
    pub(super) fn read(reader: &mut Reader<'_>, project: &Project, data_dir: &Path) -> Result<Self, Invalid> {
        let on: Switches = reader.read()?;
        // Every section is read even if it is disabled, so that its keys count as known and are checked.
        let (rest, auth) = (rest::Settings::read(reader)?, auth(reader, project, data_dir)?);
        let (storage, functions) =
            (storage(reader, project, data_dir)?, functions(reader, project, data_dir)?);
        let realtime: realtime::Settings = reader.read()?;
        Ok(Self {
            rest: on.rest.then_some(rest),
            auth: on.auth.then_some(auth),
            storage: on.storage.then_some(storage),
            realtime: on.realtime.then_some(realtime),
            functions: on.functions.then_some(functions),
            connections: reader.read()?,
            third_parties: auth::read_third_parties(reader)?,
        })
    }

    /// Sets the services' URL of the API, which is known once its port is open.
    pub(crate) fn set_api_url(&mut self, api_url: &str) {
        if let Some(rest) = &mut self.rest {
            rest.set_api_url(api_url);
        }
        if let Some(auth) = &mut self.auth {
            auth.set_api_url(api_url);
        }
    }

    /// Disables the services that are not in `only`.
    pub(crate) fn restrict(&mut self, only: &[Service]) {
        self.rest.take_if(|_| !only.contains(&Service::Rest));
        self.auth.take_if(|_| !only.contains(&Service::Auth));
        self.storage.take_if(|_| !only.contains(&Service::Storage));
        self.realtime.take_if(|_| !only.contains(&Service::Realtime));
        self.functions.take_if(|_| !only.contains(&Service::Functions));
    }
}

fn auth(reader: &mut Reader<'_>, project: &Project, data_dir: &Path) -> Result<auth::Settings, Invalid> {
    // The CLI reads templates from the project's folder, but some projects keep them in the folder of `config.toml`.
    let files = |path: &Path| vec![project.root.join(path), project.resolve(path)];
    let mails = Some(data_dir.join(MAIL_FOLDER));
    auth::Settings::read(reader, &auth::SettingsContext { mails, files: &files })
}

fn storage(
    reader: &mut Reader<'_>,
    project: &Project,
    data_dir: &Path,
) -> Result<storage::Settings, Invalid> {
    let mut settings: storage::Settings = reader.read()?;
    reader.apply(&mut settings.s3)?;
    settings.path = match settings.path.as_os_str().is_empty() {
        true => data_dir.join("objects"),
        false => project.resolve(&settings.path),
    };
    settings.image_cache_path = match settings.image_cache_path.as_os_str().is_empty() {
        true => data_dir.join("rendered"),
        false => project.resolve(&settings.image_cache_path),
    };
    Ok(settings)
}

/// Reads everything except secrets. State is in `data_dir`.
fn functions(
    reader: &mut Reader<'_>,
    project: &Project,
    data_dir: &Path,
) -> Result<functions::Settings, Invalid> {
    let mut settings = functions::Settings::read(reader)?;
    settings.folder = project.resolve(&settings.folder);
    settings.projects = Search::new(Some(&project.root)).projects;
    settings.cache = data_dir.join("deno");
    settings.root.clone_from(&project.root);
    settings.data_dir = data_dir.to_owned();
    for function in settings.functions.values_mut() {
        function.entry_point = function.entry_point.take().map(|path| project.resolve(path));
        function.import_map = function.import_map.take().map(|path| project.resolve(path));
        function.static_files = project.glob(&function.static_patterns);
    }
    Ok(settings)
}
