//! A micro-kernel on the emulator.

use super::{Buffer, Micro, PARAMETERS};
use warpwright_emulator::{Config, Launch, Machine, Module};

/// Runs a kernel on a machine, and returns its output buffer.
///
/// # Errors
/// What the emulator says of the text, the map or the run, in its words.
pub fn emulate(micro: &Micro, config: Config) -> Result<Vec<u8>, String> {
    let module = Module::parse(&micro.ptx).map_err(|e| e.to_string())?;
    let mut machine = Machine::new(config);
    let mut upload = |bytes: &[u8]| machine.upload(bytes).map_err(|e| e.to_string());
    let (input, output) = (upload(&micro.input)?, upload(&micro.output)?);
    let mut parameters = vec![0; PARAMETERS];
    if let Some((buffer, spec)) = &micro.map {
        let mut spec = spec.clone();
        spec.address += if *buffer == Buffer::Input { input } else { output };
        parameters[..128].copy_from_slice(&spec.encode().map_err(|e| e.to_string())?);
    }
    parameters[128..136].copy_from_slice(&input.to_le_bytes());
    parameters[136..144].copy_from_slice(&output.to_le_bytes());
    let cluster = (micro.cluster > 1).then_some([micro.cluster, 1, 1]);
    let launch =
        Launch { grid: [micro.blocks, 1, 1], block: [micro.threads, 1, 1], cluster, shared_bytes: micro.shared };
    machine.launch(&module.kernels()[0], &launch, &parameters).map_err(|fault| fault.to_string())?;
    machine.read(output, micro.output.len()).map_err(|e| e.to_string())
}
