//! Special registers.

use super::{Executed, Flow};
use crate::ir::Special;
use crate::machine::run::{At, Run};
use crate::ptx::ast::Reg;

impl Run<'_> {
    pub(super) fn special(&mut self, at: At, to: Reg, what: Special) -> Executed {
        let cluster = &self.clusters[at.cluster];
        let warp = &cluster.warps[at.warp];
        let block = &cluster.blocks[warp.block];
        let size: u32 = self.cluster.iter().product();
        let all = |x: u32| [u64::from(x); 32];
        let per_lane = |f: &dyn Fn(u32) -> u32| core::array::from_fn(|l| u64::from(f(l as u32)));
        let values = match what {
            Special::Tid(axis) => {
                let [x, y, _] = self.launch.block;
                let first = warp.index * 32;
                match axis {
                    0 if y == 1 && self.launch.block[2] == 1 => per_lane(&|l| first + l),
                    _ => per_lane(&|l| {
                        let n = first + l;
                        [n % x, n / x % y, n / (x * y)][axis]
                    }),
                }
            }
            Special::Ntid(axis) => all(self.launch.block[axis]),
            Special::Ctaid(axis) => all(block.id[axis]),
            Special::Nctaid(axis) => all(self.launch.grid[axis]),
            Special::LaneId => per_lane(&|l| l),
            Special::WarpId => all(warp.index),
            Special::WarpCount => all(self.warps()),
            Special::SmId => all(cluster.first_agent % 132 + block.rank),
            Special::SmCount => all(132),
            Special::GridId => all(0),
            Special::LanemaskEq => per_lane(&|l| 1 << l),
            Special::LanemaskLt => per_lane(&|l| (1 << l) - 1),
            Special::LanemaskLe => per_lane(&|l| u32::MAX >> (31 - l)),
            Special::LanemaskGt => per_lane(&|l| !(u32::MAX >> (31 - l))),
            Special::LanemaskGe => per_lane(&|l| !((1 << l) - 1)),
            Special::Clock => [self.report.warp_instructions; 32],
            Special::DynamicSharedBytes => all(self.launch.shared_bytes),
            Special::TotalSharedBytes => all(block.shared.bytes.len() as u32 - self.kernel.shared_base()),
            Special::ClusterCtaid(axis) => all(block.in_cluster[axis]),
            Special::ClusterNctaid(axis) => all(self.cluster[axis]),
            Special::ClusterId(axis) => all(cluster.id[axis]),
            Special::ClusterCount(axis) => all(self.launch.grid[axis] / self.cluster[axis]),
            Special::ClusterRank => all(block.rank),
            Special::ClusterSize => all(size),
            Special::IsExplicitCluster => {
                let is = u32::from(self.launch.cluster.is_some() || self.kernel.cluster != [0; 3]);
                // A predicate register holds a mask.
                if to.width == crate::ptx::ast::Width::Pred {
                    self.warp(at).registers.set(to.row, at.mask, if is != 0 { !0 } else { 0 });
                    return Ok(Flow::Next);
                }
                all(is)
            }
        };
        self.warp(at).registers.write_wide(to, at.mask, &values);
        Ok(Flow::Next)
    }
}
