//! What every device that launches kernels refuses.

use warpwright_arch::{DeviceInfo, Target, nvrtc_target};

use crate::{LaunchCall, LaunchTemplate, LoadError, Program, RunError};

/// What the driver passes to a kernel at most, in bytes.
const MAX_PARAMETER_BYTES: usize = 32_764;

/// Clusters larger than this need a function's consent.
pub(super) const PORTABLE_CLUSTER: u32 = 8;

/// What a program is compiled for on a device, unless its tag or a launch can never run there.
pub(super) fn check_program(program: &Program, info: &DeviceInfo) -> Result<Target, LoadError> {
    let target = match info.capability {
        Some(capability) => nvrtc_target(program.tag, capability).map_err(|mismatch| LoadError::Arch {
            program: program.name.clone(),
            device: info.name.clone(),
            mismatch,
        })?,
        None => Target::of_tag(program.tag),
    };
    program.launches.iter().try_for_each(|launch| check_limits(launch, info))?;
    Ok(target)
}

/// A source with its options: launches that share both share a module.
pub(super) type Source<'a> = (&'a str, &'a [String]);

/// The sources of a program, each once.
pub(super) fn distinct_sources(program: &Program) -> Vec<Source<'_>> {
    let mut sources = Vec::new();
    for launch in &program.launches {
        let source = (launch.source.as_str(), launch.options.as_slice());
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// Whether a source is PTX already.
pub(super) fn is_ptx(source: &str) -> bool {
    source.trim_start().starts_with(".version")
}

/// Refuses what no launch of this template could do on the device.
fn check_limits(launch: &LaunchTemplate, info: &DeviceInfo) -> Result<(), LoadError> {
    let product = |dims: [u32; 3]| dims.iter().map(|&d| u64::from(d)).product::<u64>();
    let max_cluster = info.newest_tag().map_or(1, |tag| tag.max_cluster());
    let limits = [
        ("bytes of dynamic shared memory per block", u64::from(launch.shared_bytes), u64::from(info.smem_optin)),
        ("threads per block", product(launch.block), 1024),
        ("blocks per cluster", product(launch.cluster), cluster_limit(info, max_cluster)),
        ("bytes of parameters", launch.params_bytes as u64, MAX_PARAMETER_BYTES as u64),
    ];
    for (what, value, limit) in limits {
        // An extent of 0 is a mistake of the same kind, except of memory.
        let is_extent = !what.starts_with("bytes");
        if value > limit || is_extent && value == 0 {
            return Err(LoadError::Limit {
                entry: launch.entry.clone(),
                what,
                value,
                limit,
                device: info.name.clone(),
            });
        }
    }
    Ok(())
}

/// Devices whose newest tag is an older one than their capability have clusters all the same.
fn cluster_limit(info: &DeviceInfo, of_tag: u32) -> u64 {
    let has_clusters = info.capability.is_some_and(|capability| capability.major >= 9);
    u64::from(if has_clusters { of_tag.max(PORTABLE_CLUSTER) } else { 1 })
}

/// Refuses another number of calls than of launches.
pub(super) fn check_count(program: &str, given: usize, expected: usize) -> Result<(), RunError> {
    if given == expected {
        return Ok(());
    }
    Err(RunError::LaunchCount { program: program.to_owned(), given, expected })
}

/// Refuses a call that does not fit its launch.
pub(super) fn check_call(
    entry: &str,
    call: &LaunchCall<'_>,
    params_bytes: usize,
    cluster: [u32; 3],
) -> Result<(), RunError> {
    if call.params.len() != params_bytes {
        let (given, expected) = (call.params.len(), params_bytes);
        return Err(RunError::ParameterSize { entry: entry.to_owned(), given, expected });
    }
    check_grid(call.grid, cluster).map_err(|rule| RunError::Grid { entry: entry.to_owned(), grid: call.grid, rule })
}

/// The rule that a grid breaks.
fn check_grid(grid: [u32; 3], cluster: [u32; 3]) -> Result<(), String> {
    const LIMITS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
    for (axis, ((extent, limit), blocks)) in "xyz".chars().zip(grid.into_iter().zip(LIMITS).zip(cluster)) {
        if extent == 0 {
            return Err(format!("{axis} is 0; a run without work submits nothing"));
        }
        if extent > limit {
            return Err(format!("{axis} may be {limit} at most"));
        }
        if !extent.is_multiple_of(blocks) {
            return Err(format!("{axis} must be a multiple of the cluster's {blocks}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch() -> LaunchTemplate {
        LaunchTemplate {
            entry: "kernel".into(),
            source: String::new(),
            options: Vec::new(),
            block: [128, 1, 1],
            cluster: [1, 1, 1],
            shared_bytes: 0,
            params_bytes: 8,
            pdl: false,
        }
    }

    #[test]
    fn grids_that_no_device_takes_are_refused() {
        assert_eq!(check_grid([i32::MAX as u32, 65_535, 65_535], [1, 1, 1]), Ok(()));
        assert_eq!(check_grid([4, 6, 1], [2, 3, 1]), Ok(()));
        for (grid, cluster) in
            [([0, 1, 1], [1, 1, 1]), ([1, 65_536, 1], [1, 1, 1]), ([1 << 31, 1, 1], [1, 1, 1]), ([5, 1, 1], [2, 1, 1])]
        {
            assert!(check_grid(grid, cluster).is_err(), "{grid:?} {cluster:?}");
        }
    }

    #[test]
    fn limits_are_the_devices() {
        let h200 = DeviceInfo::h200();
        assert_eq!(check_limits(&launch(), &h200), Ok(()));
        assert_eq!(
            check_limits(&LaunchTemplate { shared_bytes: 232_448, cluster: [16, 1, 1], ..launch() }, &h200),
            Ok(())
        );
        let wrong = [
            LaunchTemplate { shared_bytes: 232_449, ..launch() },
            LaunchTemplate { block: [1024, 2, 1], ..launch() },
            LaunchTemplate { block: [0, 1, 1], ..launch() },
            LaunchTemplate { cluster: [17, 1, 1], ..launch() },
            LaunchTemplate { params_bytes: 40_000, ..launch() },
        ];
        for launch in wrong {
            assert!(matches!(check_limits(&launch, &h200), Err(LoadError::Limit { .. })), "{launch:?}");
        }
        let clustered = LaunchTemplate { cluster: [2, 1, 1], ..launch() };
        let error = check_limits(&clustered, &DeviceInfo::a100()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel `kernel` asks for 2 blocks per cluster, and NVIDIA A100-SXM4-80GB allows 1"
        );
    }

    #[test]
    fn equal_sources_are_compiled_once() {
        let with = |source: &str, option: &str| LaunchTemplate {
            source: source.into(),
            options: vec![option.into()],
            ..launch()
        };
        let launches = vec![with("a", "x"), with("b", "x"), with("a", "x"), with("a", "y")];
        let program =
            Program { name: "p".into(), tag: warpwright_arch::ArchId::SM80, launches, workspace: Default::default() };
        assert_eq!(distinct_sources(&program).len(), 3);
    }
}
