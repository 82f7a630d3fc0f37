//! Writes sample files.
//!
//! ```text
//! cargo run -p sample-traces --bin write_samples                     the checked-in samples
//! cargo run -p sample-traces --bin write_samples -- DIRECTORY        the same, elsewhere
//! cargo run --release -p sample-traces --bin write_samples -- --big SLICES TRACKS FILE.xplane.pb
//! cargo run --release -p sample-traces --bin write_samples -- --capture EVENTS FILE.xplane.pb
//! cargo run --release -p sample-traces --bin write_samples -- --pod DEVICES FILE.xplane.pb
//! cargo run --release -p sample-traces --bin write_samples -- --hosts HOSTS DEVICES EVENTS DIRECTORY
//! ```
//!
//! `--big` writes plain slices. `--capture` writes a training run with its programs and the compiler's facts about
//! ops; its memory use does not grow with the number of events. `--pod` writes
//! a data-parallel run on many devices, one of them slow. `--hosts` writes a log directory with a training run of many
//! hosts, each with so many devices of so many events.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use sample_traces::big::{BigSpec, big_xspace};
use sample_traces::fleet::FleetSpec;
use sample_traces::synthetic::{HostClock, SyntheticRun, TrainingSpec};
use sample_traces::write::{write_xspace, xspace_bytes};
use trace_model::Picos;

const USAGE: &str = "usage: write_samples [DIRECTORY | --big SLICES TRACKS FILE | --capture EVENTS FILE | --pod DEVICES FILE \
                     | --hosts HOSTS DEVICES EVENTS DIRECTORY]";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let outcome = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write_samples(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples")),
        [directory] if !directory.starts_with('-') => write_samples(Path::new(directory)),
        ["--big", slices, tracks, file] => write_big(slices, tracks, file),
        ["--capture", events, file] => write_capture(events, file),
        ["--pod", devices, file] => write_pod(devices, file),
        ["--hosts", hosts, devices, events, directory] => {
            write_hosts([hosts, devices, events], Path::new(directory))
        }
        _ => Err(io::Error::other(USAGE)),
    };
    match outcome {
        Ok(written) => {
            for (path, bytes) in written {
                print(&format!("{bytes:>9}  {}", path.display()));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            print(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn write_samples(directory: &Path) -> io::Result<Vec<(PathBuf, usize)>> {
    let mut written = Vec::new();
    for file in sample_traces::sample_files() {
        let path = directory.join(&file.name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, &file.bytes)?;
        written.push((path, file.bytes.len()));
    }
    Ok(written)
}

fn write_big(slices: &str, tracks: &str, file: &str) -> io::Result<Vec<(PathBuf, usize)>> {
    let slices = slices.parse().map_err(io::Error::other)?;
    let tracks = tracks.parse().map_err(io::Error::other)?;
    let bytes = big_xspace(BigSpec { slices, tracks });
    fs::write(file, &bytes)?;
    Ok(vec![(PathBuf::from(file), bytes.len())])
}

fn write_capture(events: &str, file: &str) -> io::Result<Vec<(PathBuf, usize)>> {
    let spec = TrainingSpec::of_device_events(events.parse().map_err(io::Error::other)?);
    let mut out = io::BufWriter::new(fs::File::create(file)?);
    write_xspace("synthetic", SyntheticRun::new(spec).planes(), &mut out)?;
    let written = out
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .metadata()?
        .len();
    Ok(vec![(PathBuf::from(file), written as usize)])
}

fn write_pod(devices: &str, file: &str) -> io::Result<Vec<(PathBuf, usize)>> {
    let devices: u32 = devices.parse().map_err(io::Error::other)?;
    let slow = (devices / 3, Picos::from_ps(trace_model::time::PS_PER_MS));
    let spec = FleetSpec {
        devices,
        straggler: Some(slow),
        ..FleetSpec::default()
    };
    let bytes = xspace_bytes(&spec.session());
    fs::write(file, &bytes)?;
    Ok(vec![(PathBuf::from(file), bytes.len())])
}

fn write_hosts(numbers: [&str; 3], directory: &Path) -> io::Result<Vec<(PathBuf, usize)>> {
    let number = |text: &str| text.parse::<u32>().map_err(io::Error::other);
    let [hosts, devices, events] = numbers.map(number);
    let run = SyntheticRun::new(TrainingSpec {
        data: devices?,
        ..TrainingSpec::of_device_events(events?.into())
    });
    let folder = directory.join("plugins/profile/run");
    fs::create_dir_all(&folder)?;
    let write = |host: u32| {
        let name = format!("host_{host:02}");
        let path = folder.join(format!("{name}.xplane.pb"));
        let bytes = xspace_bytes(&run.host_session(&name, HostClock::default()));
        fs::write(&path, &bytes)?;
        Ok((path, bytes.len()))
    };
    (0..hosts?).map(write).collect()
}

#[expect(clippy::print_stdout, reason = "a command-line tool talks to its user")]
fn print(line: &str) {
    println!("{line}");
}
