use warpwright::prelude::*;

fn main() {
    let _ = Device::emulator::<f16>();
}
