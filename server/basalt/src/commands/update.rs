//! `basalt update`: replaces the program of a release archive by another release, and the running server with it.

mod origin;
mod release;
mod replace;
mod running;
mod source;
mod trial;
mod version;

use std::time::Duration;

use clap::Args;

use crate::backend::Backend;
use crate::console;
use crate::error::Error;
use crate::program;
use crate::settings::{Settings, display_path};
use origin::Origin;
use release::{Key, Release};
use replace::Places;
use running::Running;
use source::Source;
use version::Version;

/// Arguments of `update`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The version to install, which may be an older one [default: the newest]
    #[arg(long, value_name = "VERSION")]
    to: Option<Version>,
    /// Only say whether there is a newer release
    #[arg(long, conflicts_with = "back")]
    check: bool,
    /// Go back to the program that the last update has replaced
    #[arg(long, conflicts_with_all = ["to", "from", "key"])]
    back: bool,
    /// Where releases are: a URL such as https://HOST/OWNER/NAME/releases, or a folder
    /// [default: that of the publisher, if the program was built with one]
    #[arg(long, value_name = "URL|FOLDER")]
    from: Option<String>,
    /// The minisign key of the publisher, or a file with it
    /// [default: that of the publisher, if the program was built with one]
    #[arg(long, value_name = "KEY|FILE")]
    key: Option<String>,
    /// For how many seconds the new server must stay healthy; it may take as long to start, and at least a minute
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    watch: u16,
}

/// Runs the command.
pub(super) async fn run(settings: Settings, arguments: Arguments) -> Result<(), Error> {
    let program = program::path()?;
    if let Origin::Managed(advice) = Origin::of(program) {
        return Err(Error::Advice(advice));
    }
    let places = Places::of(program);
    let watch = Duration::from_secs(arguments.watch.into());
    if arguments.back {
        let running = Running::find(&settings, program).await?;
        places.go_back()?;
        console::print(format_args!(
            "{} is the program before the last update again.",
            display_path(program)
        ));
        return switch(&settings, &places, running, watch).await;
    }
    // Without a key nothing is even read.
    let key = Key::find(arguments.key.as_deref())?;
    let source = Source::find(arguments.from.as_deref())?;
    let release = Release::read(&source, arguments.to.as_ref(), &key).await?;
    let own: Version = env!("CARGO_PKG_VERSION").parse().map_err(Error::Advice)?;
    let is_wanted = if arguments.to.is_some() { release.version != own } else { release.version > own };
    if arguments.check || !is_wanted {
        console::print(match is_wanted {
            true => format!(
                "Basalt {} can be installed; this is {own}. `basalt update` installs it.",
                release.version
            ),
            false => format!("Nothing to do: this is Basalt {own}, and the release is {}.", release.version),
        });
        return Ok(());
    }
    let running = Running::find(&settings, program).await?;
    install(&settings, &places, &source, &release).await?;
    switch(&settings, &places, running, watch).await
}

/// Downloads, checks and tries the program of `release`, and puts it in place of this one.
async fn install(
    settings: &Settings,
    places: &Places,
    source: &Source,
    release: &Release,
) -> Result<(), Error> {
    let archive = release.archive()?;
    console::step(format_args!("downloading {}", archive.file));
    let bytes = release::download(source, release, archive).await?;
    places.unpack(&bytes)?;
    drop(bytes);
    console::step(format_args!("trying Basalt {}", release.version));
    let tried = trial::run(settings, &places.new, &release.version).await;
    if let Err(error) = tried {
        places.discard();
        return Err(Error::Advice(format!("{error}. Nothing was changed")));
    }
    make_restore_point(settings, &release.version).await;
    places.replace()?;
    console::print(format_args!(
        "{} is Basalt {}. The program before it is kept: `basalt update --back` goes back.",
        display_path(&places.program),
        release.version
    ));
    Ok(())
}

/// Makes a restore point and says how to go back to it, if there are backups: they go back to any moment. Without one,
/// the update goes on: it can be that the program is replaced because the database does not start with this one.
async fn make_restore_point(settings: &Settings, version: &Version) {
    let has_backups = settings.backup.target.is_some() && !backup::is_copy(&settings.data_dir);
    // Without a database there is nothing to go back to, and none is made for that.
    if !has_backups || settings.database.url.is_some() || !embedded::has_cluster(&settings.data_dir) {
        return;
    }
    let name = format!("before {version}");
    let made = Backend::attached(settings, async |backend| {
        backend
            .with_admin(async |database| {
                platform::create_restore_point(database, &name).await.map_err(Error::Advice)
            })
            .await
    });
    match made.await {
        Ok(point) => {
            let moment = backup::Moment::of_microseconds(point.microseconds);
            let moment = moment.unwrap_or_else(|_| backup::Moment::now());
            console::print(format_args!(
                "The restore point \"{}\" keeps the data as it is now: `basalt restore --to \"{moment}\" --data-dir NEW` \
                 brings it back.",
                point.name
            ));
        }
        Err(error) => console::note(format_args!("There is no restore point: {error}")),
    }
}

/// Has the running server of the project become the program at its place, and the one before if that is not healthy.
async fn switch(
    settings: &Settings,
    places: &Places,
    running: Option<Running>,
    watch: Duration,
) -> Result<(), Error> {
    let Some(running) = running else {
        console::note("No server of this project runs with this program; the next start uses the new one.");
        return Ok(());
    };
    console::step("the running server switches to it");
    let Err(reason) = running.switch(&settings.data_dir, watch).await else {
        let seconds = watch.as_secs();
        console::print(format_args!("The server has switched, and was healthy for {seconds} s."));
        return Ok(());
    };
    console::note(format_args!("The new program is not healthy: {reason}. Going back …"));
    places.undo()?;
    running.recover(&settings.data_dir).await?;
    Err(Error::Advice(format!(
        "the update was undone, and the server runs with the program before it, because {reason}. The program that failed \
         is {}",
        display_path(&places.failed)
    )))
}
