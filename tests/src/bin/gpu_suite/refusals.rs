//! What must be refused on a GPU before anything is compiled or launched, in words; the device stays usable.

use crate::Part;
use warpwright::prelude::*;
use warpwright::{ScheduleId, SchedulerId};

pub fn run(device: &Device) -> Part {
    check(device).map_err(|e| e.to_string())
}

fn check(device: &Device) -> Result<String, Box<dyn std::error::Error>> {
    let capability = device.info().capability.map(|c| c.number()).unwrap_or_default();
    let mut seen = Vec::new();
    let mut refused = |what: &str, text: Result<(), String>, says: &[&str]| -> Result<(), String> {
        let Err(text) = text else { return Err(format!("{what} was not refused")) };
        match says.iter().find(|s| !text.contains(**s)) {
            Some(missing) => Err(format!("{what}: `{text}` does not say `{missing}`")),
            None => {
                seen.push(what.to_owned());
                Ok(())
            }
        }
    };
    if capability != 100 {
        let built = GemmBuilder::<Sm100, f16, f32>::auto().build(device).map(drop).map_err(|e| e.to_string());
        refused("Sm100 here", built, &["Sm100", "10.0", "use the tag"])?;
    }
    if capability == 90 {
        let named =
            GemmBuilder::<Sm90, f16, f32>::auto().b::<i4>().scales::<Blockwise<128>>().schedule::<Cooperative>();
        let built = named.build(device).map(drop).map_err(|e| e.to_string());
        refused("i4 by wgmma", built, &["Cooperative", "no device code yet"])?;
        let named = GemmBuilder::<Sm90, bf16, f32>::auto().schedule::<Cooperative>().scheduler::<Grouped>();
        let built = named.build(device).map(drop).map_err(|e| e.to_string());
        refused("Cooperative of groups", built, &["Grouped", "no device code for Cooperative kernels yet"])?;
        let mut desc = GemmDesc::new(ArchId::SM90, Dtype::Bf16, Dtype::F32);
        (desc.schedule, desc.scheduler) = (ScheduleId::PINGPONG, SchedulerId::STREAM_K);
        let built = AnyGemm::new(&desc, device).map(drop).map_err(|e| e.to_string());
        refused("Pingpong stream-K", built, &["StreamK", "cannot feed", "Pingpong"])?;
    }
    let types =
        GemmBuilder::<Sm80, f16, f32>::auto().output::<e8m0>().build(device).map(drop).map_err(|e| e.to_string());
    refused("e8m0", types, &["no kernel for f16 x f16", "e8m0 output", "Device::host()"])?;
    // Host memory on a GPU's kernel.
    let stream = device.new_stream()?;
    let (a, b) = (Tensor::<f16>::zeros(32, 32)?, Tensor::<f16>::zeros(32, 32)?);
    let mut d = Tensor::<f16>::zeros(32, 32)?;
    let mut gemm = GemmBuilder::<Sm80, f16, f32>::auto().build(device)?;
    refused("host memory", gemm.run(&stream, &a, &b, &mut d).map_err(|e| e.to_string()), &["A is in the memory of"])?;
    // Afterwards the device still multiplies.
    let (a, b) = (a.to_device(&stream)?, b.to_device(&stream)?);
    let mut d = d.to_device(&stream)?;
    gemm.run(&stream, &a, &b, &mut d)?;
    stream.synchronize()?;
    Ok(seen.join(", "))
}
