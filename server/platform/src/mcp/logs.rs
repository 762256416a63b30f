//! The queries of `get_logs`. Source: `@supabase/mcp-server-supabase` 0.16, `logs.ts`.

/// How many rows it returns.
const ROWS: usize = 100;

/// Returns the query of the newest logs of `service`, one of those that the tool's schema lists.
pub(super) fn query(service: &str) -> String {
    let (source, attributes): (&str, &[(&str, &str)]) = match service {
        "api" => (
            "edge_logs",
            &[
                ("identifier", "identifier"),
                ("method", "request.method"),
                ("path", "request.path"),
                ("status_code", "response.status_code"),
            ],
        ),
        "branch-action" => ("workflow_run_logs", &[("workflow_run", "workflow_run")]),
        "postgres" => {
            ("postgres_logs", &[("identifier", "identifier"), ("error_severity", "parsed.error_severity")])
        }
        "edge-function" => (
            "function_edge_logs",
            &[
                ("status_code", "response.status_code"),
                ("method", "request.method"),
                ("function_id", "function_id"),
                ("execution_time_ms", "execution_time_ms"),
                ("deployment_id", "deployment_id"),
                ("version", "version"),
            ],
        ),
        "edge-function-runtime" => (
            "function_logs",
            &[
                ("level", "level"),
                ("event_type", "event_type"),
                ("function_id", "function_id"),
                ("execution_id", "execution_id"),
                ("deployment_id", "deployment_id"),
                ("version", "version"),
            ],
        ),
        "auth" => (
            "auth_logs",
            &[("level", "level"), ("status", "status"), ("path", "path"), ("msg", "msg"), ("error", "error")],
        ),
        "storage" => ("storage_logs", &[]),
        _ => ("realtime_logs", &[]),
    };
    let attributes: String =
        attributes.iter().map(|(name, key)| format!(", log_attributes['{key}'] as {name}")).collect();
    format!(
        "select id, timestamp, event_message{attributes} from logs where source = '{source}' \
         order by timestamp desc limit {ROWS}"
    )
}
