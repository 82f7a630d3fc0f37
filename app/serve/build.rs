//! Makes the folder of the window for browsers.

/// The window in a browser is a part of `systole serve` if `scripts/web` has built it: in a release inside the program,
/// which is then built again for each new window, otherwise read when it is asked for.
fn main() {
    const FOLDER: &str = "../../target/web/embedded";
    // Where it cannot be made, there is no window. The path of a folder that comes later would not be recognized.
    let _ = std::fs::create_dir_all(FOLDER);
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo::rerun-if-changed={FOLDER}");
    }
}
