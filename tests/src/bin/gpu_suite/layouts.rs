//! Lowered index functions return what their layouts say on every coordinate, and a kernel gathers through one.

use crate::Part;
use warpwright::Device;
use warpwright_tests::layouts::{Gather, all, check};

pub fn run(device: &Device) -> Part {
    run_groups(device).map_err(|e| e.to_string())
}

fn run_groups(device: &Device) -> Result<String, Box<dyn std::error::Error>> {
    let (mut functions, mut coordinates) = (0, 0);
    for group in all()? {
        let right = check(device, &group).map_err(|e| format!("{}: {e}", group.name))?;
        println!(
            "     index functions, {:<9} {:>4} functions, {right:>7} coordinates",
            group.name,
            group.functions.len()
        );
        functions += group.functions.len();
        coordinates += right;
    }
    let gather = Gather::new()?;
    let (right, elements) = (gather.run(device)?, gather.matrix().len());
    println!("     gather through {}: {right} of {elements} elements", gather.tiled);
    if right != elements {
        return Err(format!("the gather gets {right} of {elements} elements right").into());
    }
    Ok(format!("{functions} index functions right on {coordinates} coordinates, and a gather through a layout"))
}
