//! Embeds the built client in release builds: the files of `client/dist`, and for each file that becomes smaller also
//! its best compression, which would be too slow at every start. Nothing is embedded without a built client, in debug
//! builds (they read it from the disk), and with BASALT_EMBED_SITE=0, for programs that are published.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Kinds of files that are compressed already.
const COMPRESSED: [&str; 9] = ["avif", "gif", "ico", "jpg", "mp4", "png", "webm", "webp", "woff2"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let site = Path::new(&std::env::var("OUT_DIR")?).join("site");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    fs::create_dir_all(&site)?;
    println!("cargo::rerun-if-env-changed=BASALT_EMBED_SITE");
    if std::env::var("PROFILE")? != "release"
        || std::env::var("BASALT_EMBED_SITE").is_ok_and(|value| value == "0")
    {
        return Ok(());
    }
    let client = Path::new(&std::env::var("CARGO_MANIFEST_DIR")?).join("../../client");
    // While the folder does not exist, cargo runs this at every build, which then has nothing to do.
    println!("cargo::rerun-if-changed={}", client.join("dist").display());
    if client.join("dist/index.html").is_file() {
        embed(&client.join("dist"), &site)?;
    }
    Ok(())
}

fn embed(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let source = entry?.path();
        let Some(name) = source.file_name() else { continue };
        let target = to.join(name);
        if source.is_dir() {
            embed(&source, &target)?;
            continue;
        }
        let bytes = fs::read(&source)?;
        fs::write(&target, &bytes)?;
        let extension = source.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        // The page is compressed at run time, after the URL and key are written into it. Hidden files are not served.
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if COMPRESSED.contains(&extension) || extension == "html" || is_hidden {
            continue;
        }
        for (suffix, compressed) in [("br", brotli(&bytes)?), ("gz", gzip(&bytes)?)] {
            if compressed.len() < bytes.len() {
                fs::write(to.join(format!("{}.{suffix}", name.display())), compressed)?;
            }
        }
    }
    Ok(())
}

fn brotli(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut compressed = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams { quality: 11, lgwin: 22, ..Default::default() };
    brotli::BrotliCompress(&mut &*bytes, &mut compressed, &parameters)?;
    Ok(compressed)
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}
