//! Where the cluster is in a data folder, and what made it.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;

/// Returns the folder of the cluster in `data_dir`.
pub fn cluster_in(data_dir: &Path) -> PathBuf {
    data_dir.join("postgres")
}

/// Returns the major version that made `cluster`; `None` if it does not exist yet.
pub(super) fn major_of(cluster: &Path) -> Result<Option<u32>, Error> {
    if !cluster.exists() {
        return Ok(None);
    }
    let file = cluster.join("PG_VERSION");
    let text = fs::read_to_string(&file).map_err(Error::io("read", &file))?;
    let major = text.trim().parse().map_err(|_| {
        Error::io("parse", &file)(std::io::Error::new(std::io::ErrorKind::InvalidData, text.trim()))
    })?;
    Ok(Some(major))
}
