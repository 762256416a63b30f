//! What an access token may do, in the names of the Management API.

settings::words! {
    /// A permission of an access token. Source: `x-fga-permissions` of the Management API's OpenAPI document, and
    /// `--help` of the Supabase CLI 3.1.
    #[derive(Hash)]
    pub enum Scope {
        /// List and read projects.
        ProjectsRead = "projects_read",
        /// Read the project itself and its health.
        ProjectAdminRead = "project_admin_read",
        /// Change the project itself.
        ProjectAdminWrite = "project_admin_write",
        /// List organizations.
        OrganizationsRead = "organizations_read",
        /// Read an organization.
        OrganizationAdminRead = "organization_admin_read",
        /// List the projects of an organization.
        OrganizationProjectsRead = "organization_projects_read",
        /// List the members of an organization.
        MembersRead = "members_read",
        /// List API keys; secret ones are masked.
        ApiGatewayKeysRead = "api_gateway_keys_read",
        /// See secret API keys.
        ApiGatewayKeysSecretRead = "api_gateway_keys_secret_read",
        /// Create, change and delete API keys.
        ApiGatewayKeysWrite = "api_gateway_keys_write",
        /// Read functions and their files.
        EdgeFunctionsRead = "edge_functions_read",
        /// Deploy, change and delete functions.
        EdgeFunctionsWrite = "edge_functions_write",
        /// List the secrets of functions.
        EdgeFunctionsSecretsRead = "edge_functions_secrets_read",
        /// Set and delete the secrets of functions.
        EdgeFunctionsSecretsWrite = "edge_functions_secrets_write",
        /// Read all data of the database.
        DatabaseRead = "database_read",
        /// Run any SQL, and create login roles.
        DatabaseWrite = "database_write",
        /// List migrations.
        DatabaseMigrationsRead = "database_migrations_read",
        /// Apply, record and take back migrations.
        DatabaseMigrationsWrite = "database_migrations_write",
        /// Read the settings of Postgres.
        DatabaseConfigRead = "database_config_read",
        /// Change the settings of Postgres.
        DatabaseConfigWrite = "database_config_write",
        /// Read how tools connect to the database.
        DatabasePoolingConfigRead = "database_pooling_config_read",
        /// Change how tools connect to the database.
        DatabasePoolingConfigWrite = "database_pooling_config_write",
        /// Read which addresses may connect to the database.
        DatabaseNetworkRestrictionsRead = "database_network_restrictions_read",
        /// Change which addresses may connect to the database.
        DatabaseNetworkRestrictionsWrite = "database_network_restrictions_write",
        /// Read which addresses are banned.
        DatabaseNetworkBansRead = "database_network_bans_read",
        /// Lift bans of addresses.
        DatabaseNetworkBansWrite = "database_network_bans_write",
        /// Read whether connections to the database need TLS.
        DatabaseSslConfigRead = "database_ssl_config_read",
        /// Change whether connections to the database need TLS.
        DatabaseSslConfigWrite = "database_ssl_config_write",
        /// Read whether the database accepts writes.
        DatabaseReadonlyConfigRead = "database_readonly_config_read",
        /// Enable database webhooks.
        DatabaseWebhooksConfigWrite = "database_webhooks_config_write",
        /// Read the settings of REST.
        DataApiConfigRead = "data_api_config_read",
        /// Change the settings of REST.
        DataApiConfigWrite = "data_api_config_write",
        /// Read the settings of auth.
        AuthConfigRead = "auth_config_read",
        /// Change the settings of auth.
        AuthConfigWrite = "auth_config_write",
        /// List the keys that sign users' tokens.
        AuthSigningKeysRead = "auth_signing_keys_read",
        /// Change the keys that sign users' tokens.
        AuthSigningKeysWrite = "auth_signing_keys_write",
        /// Read the settings of storage.
        StorageConfigRead = "storage_config_read",
        /// Change the settings of storage.
        StorageConfigWrite = "storage_config_write",
        /// List buckets.
        StorageRead = "storage_read",
        /// Read the settings of realtime.
        RealtimeConfigRead = "realtime_config_read",
        /// Change the settings of realtime.
        RealtimeConfigWrite = "realtime_config_write",
        /// Read what the advisors say.
        AdvisorsRead = "advisors_read",
        /// Read logs.
        AnalyticsLogsRead = "analytics_logs_read",
        /// List backups.
        BackupsRead = "backups_read",
        /// List runs of actions of branches.
        ActionRunsRead = "action_runs_read",
        /// Read the name of the project's host.
        CustomDomainRead = "custom_domain_read",
        /// Read the subdomain of the project.
        VanitySubdomainRead = "vanity_subdomain_read",
        /// Restore backups.
        BackupsWrite = "backups_write",
        /// List branches.
        BranchingDevelopmentRead = "branching_development_read",
        /// List add-ons.
        InfraAddOnsRead = "infra_add_ons_read",
        /// Read the use of the disk.
        InfraDiskConfigRead = "infra_disk_config_read",
        /// Read snippets of SQL.
        SnippetsRead = "snippets_read",
    }
}

/// The word for all scopes that read, except that secret keys stay masked.
const READ_ONLY: &str = "read-only";

/// Returns the scopes that `words` name: names of scopes, or `read-only` for all that read.
///
/// Errors: the first word that is none of these.
pub(crate) fn parse(words: &[String]) -> Result<Vec<Scope>, String> {
    let mut scopes = Vec::new();
    for word in words.iter().map(|word| word.trim()).filter(|word| !word.is_empty()) {
        if word == READ_ONLY {
            let is_read =
                |scope: &Scope| scope.name().ends_with("_read") && *scope != Scope::ApiGatewayKeysSecretRead;
            scopes.extend(Scope::ALL.into_iter().filter(is_read));
        } else {
            scopes.push(Scope::of_name(word).ok_or_else(|| word.to_owned())?);
        }
    }
    scopes.dedup();
    Ok(scopes)
}

/// Returns the words that [`parse`] understands for the scopes of these names.
pub(crate) fn words(names: &[String]) -> String {
    let reads = parse(&[READ_ONLY.to_owned()]).unwrap_or_default();
    if names.len() == reads.len() && reads.iter().all(|scope| names.iter().any(|name| name == scope.name())) {
        return READ_ONLY.to_owned();
    }
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_is_all_that_reads_and_no_secret() {
        let scopes = parse(&["read-only".to_owned()]).unwrap();
        assert!(scopes.contains(&Scope::DatabaseRead) && !scopes.contains(&Scope::DatabaseWrite));
        assert!(!scopes.contains(&Scope::ApiGatewayKeysSecretRead));
        assert_eq!(parse(&["database_reed".to_owned()]), Err("database_reed".to_owned()));
    }

    #[test]
    fn scopes_are_named_as_they_can_be_given() {
        let names =
            |scopes: Vec<Scope>| scopes.iter().map(|scope| scope.name().to_owned()).collect::<Vec<_>>();
        let mut reads = names(parse(&["read-only".to_owned()]).unwrap());
        assert_eq!(words(&reads), "read-only");
        reads.pop();
        assert_eq!(words(&reads), reads.join(","));
        assert_eq!(
            words(&names(vec![Scope::DatabaseRead, Scope::DatabaseWrite])),
            "database_read,database_write"
        );
    }
}
