//! The files of `schema/platform`, which are embedded in this binary.

use super::source::checksum;

/// The prefix of a file's first line if the file is skipped under a condition.
const SKIP: &str = "-- skip if: ";

/// One file of the platform's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlatformFile {
    /// The file's name: `<version>_<name>.sql`.
    pub(super) file: &'static str,
    pub(super) sql: &'static str,
}

macro_rules! embed {
    ($($file:literal),* $(,)?) => {
        &[$(PlatformFile { file: $file, sql: include_str!(concat!("../../../schema/platform/", $file)) }),*]
    };
}

/// All files, in order.
pub(super) const FILES: &[PlatformFile] = embed![
    "0001_roles.sql",
    "0002_schemas.sql",
    "0003_auth.sql",
    "0004_auth_factors.sql",
    "0005_storage.sql",
    "0006_storage_functions.sql",
    "0007_realtime.sql",
    "0008_catalog_watch.sql",
    "0009_rate_limits.sql",
    "0010_policy_watch.sql",
    "0011_auth_indexes.sql",
    "0012_older_schemas.sql",
    "0013_auth_rows.sql",
    "0014_generated_columns.sql",
    "0015_vault.sql",
    "0016_extensions_of_new_projects.sql",
    "0017_resumable_uploads.sql",
    "0018_storage_migrations.sql",
    "0019_public_object_changes.sql",
    "0020_multipart_uploads.sql",
    "0021_vectors.sql",
    "0022_message_publication.sql",
    "0023_rights_watch.sql",
    "0024_scheduled_calls.sql",
    "0025_database_webhooks.sql",
    "0027_project_administrator.sql",
    "0028_auth_recovery_codes.sql",
    "0029_extension_members.sql",
    "0030_graphql.sql",
    "0031_settings.sql",
    "0032_stored_broadcasts.sql",
    "0033_object_versions.sql",
    "0034_extensions.sql",
    "0035_published_messages.sql",
    "0036_visible_rows.sql",
    "0037_management.sql",
    "0038_managed_settings.sql",
    "0039_logs.sql",
    "0040_backups.sql",
    "0041_certificates.sql",
    "0042_callers.sql",
];

impl PlatformFile {
    /// Returns the digits before the first underscore.
    pub(super) fn version(&self) -> &'static str {
        self.file.split('_').next().unwrap_or(self.file)
    }

    /// Returns the part between the version and `.sql`.
    pub(super) fn name(&self) -> &'static str {
        self.file.split_once('_').map_or("", |(_, rest)| rest.trim_end_matches(".sql"))
    }

    /// Returns the SHA-256 of the text in hexadecimal.
    pub(super) fn checksum(&self) -> String {
        checksum(self.sql)
    }

    /// Returns an SQL condition that is true if the database already has everything that the file creates, as on hosted
    /// Supabase. The file is then recorded as adopted and not run.
    pub(super) fn skip_condition(&self) -> Option<&'static str> {
        self.sql.lines().next()?.strip_prefix(SKIP)
    }
}

/// Returns the SHA-256 of all files of the platform's schema in hexadecimal, which changes when any of them does.
pub fn platform_checksum() -> String {
    let all: String = FILES.iter().map(|file| file.sql).collect();
    checksum(&all)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_of_the_folder_is_embedded_in_order() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/platform");
        let mut there: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".sql"))
            .collect();
        there.sort();
        let embedded: Vec<&str> = FILES.iter().map(|file| file.file).collect();
        assert_eq!(embedded, there);
    }

    #[test]
    fn names_and_conditions_come_from_the_files() {
        assert_eq!((FILES[0].version(), FILES[0].name()), ("0001", "roles"));
        assert_eq!(FILES[0].skip_condition(), None);
        assert!(FILES[2].skip_condition().unwrap().contains("auth.sessions"));
        assert!(FILES.iter().all(|file| crate::file::File::parse(file.file, file.sql).is_ok()));
    }
}
