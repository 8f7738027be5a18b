//! Tiled copies and MMAs as they are typed, and pictures.

use super::args::{Common, Tiled};
use super::batch::permuted;
use super::text::{Notation, TextError, refused};
use warpwright::layout::atom::{CopyAtom, MmaAtom};
use warpwright::layout::picture::Picture;
use warpwright::layout::{ComposedLayout, Layout, LayoutError, Operand, Side, Swizzle, TiledCopy, TiledMma, layout};

/// What `--copy` and `--mma` describe together.
enum Kind {
    Copy(Box<TiledCopy>, Side),
    Mma(Box<TiledMma>),
}

impl Tiled {
    fn operand(&self) -> Result<Operand, TextError> {
        match self.operand.as_deref().map(str::to_ascii_lowercase).as_deref() {
            Some("a") => Ok(Operand::A),
            Some("b") => Ok(Operand::B),
            Some("c") => Ok(Operand::C),
            Some(other) => {
                Err(TextError::Word { given: other.to_owned(), what: "a matrix of the MMA", choices: "a, b, c" })
            }
            None => Err(TextError::Missing { needed: "which matrix of the MMA is not said: give --operand a, b or c" }),
        }
    }

    fn kind(&self, notation: Notation) -> anyhow::Result<Kind> {
        let side = match self.side.to_ascii_lowercase().as_str() {
            "source" | "s" => Side::Source,
            "destination" | "d" => Side::Destination,
            other => {
                let (what, choices) = ("a side of the copy", "source, destination");
                return Err(TextError::Word { given: other.to_owned(), what, choices }.into());
            }
        };
        let mma = match &self.mma {
            None => None,
            Some(name) => {
                let atoms = match &self.atoms {
                    Some(atoms) => notation.layout("--atoms", atoms)?,
                    None => layout!((1, 1, 1)),
                };
                let mma = TiledMma::new(MmaAtom::named(name)?, &atoms).map_err(|e| self.arranged(e))?;
                Some(match &self.permute {
                    Some(permute) => permuted(mma, &notation.tree("a tiler of m, n and k", permute)?)?,
                    None => mma,
                })
            }
        };
        let copy = self.copy.as_ref().map(|name| CopyAtom::named(name, self.bits)).transpose()?;
        Ok(match (copy, mma) {
            (Some(atom), Some(mma)) => {
                let copy = TiledCopy::for_mma(atom, self.bits, &mma, self.operand()?).map_err(|e| self.arranged(e))?;
                Kind::Copy(Box::new(copy), side)
            }
            (Some(atom), None) => {
                let needed = "a copy needs --threads and --values (or --mma and --operand), as in --threads (32,8) --values (4,1)";
                let (Some(threads), Some(values)) = (&self.threads, &self.values) else {
                    return Err(TextError::Missing { needed }.into());
                };
                let (threads, values) = (notation.layout("--threads", threads)?, notation.layout("--values", values)?);
                Kind::Copy(Box::new(TiledCopy::new(atom, self.bits, &threads, &values)?), side)
            }
            (None, Some(mma)) => Kind::Mma(Box::new(mma)),
            (None, None) => {
                let needed = "nothing is named: give --copy or --mma with the CUTLASS name of an atom";
                return Err(TextError::Missing { needed }.into());
            }
        })
    }

    /// What is refused because of `--atoms`, by that name.
    fn arranged(&self, error: LayoutError) -> anyhow::Error {
        match (&self.atoms, error) {
            (Some(atoms), LayoutError::AtomArrangement { .. } | LayoutError::NotApart { .. }) => {
                refused("an arrangement of atoms for --atoms", atoms, error).into()
            }
            _ => error.into(),
        }
    }

    fn notation<'a>(&'a self, more: impl IntoIterator<Item = &'a String>, common: &Common) -> Notation {
        let options = [&self.threads, &self.values, &self.atoms, &self.permute];
        Notation::of(options.into_iter().flatten().chain(more), common.dynamic)
    }
}

/// (thread, value) → column-major index in the tile.
pub fn tv(tiled: &Tiled, common: &Common) -> anyhow::Result<Layout> {
    Ok(match tiled.kind(tiled.notation([], common))? {
        Kind::Copy(copy, side) => copy.tv(side)?,
        Kind::Mma(mma) => mma.tv(tiled.operand()?).map_err(|e| tiled.arranged(e))?,
    })
}

/// One thread's part of `matrix`, each mode coalesced unless `nested`.
pub fn partition(
    matrix: &String,
    thread: i64,
    tiled: &Tiled,
    nested: bool,
    common: &Common,
) -> anyhow::Result<(ComposedLayout, i64)> {
    let notation = tiled.notation([matrix], common);
    let matrix = notation.composed(matrix)?;
    let kind = tiled.kind(notation)?;
    let (part, offset) = match kind {
        Kind::Copy(copy, side) => copy.partition_swizzled(side, &matrix, thread)?,
        Kind::Mma(mma) => mma.partition_swizzled(tiled.operand()?, &matrix, thread)?,
    };
    let part = if nested {
        part
    } else {
        {
            let modes = (0..part.rank()).map(|i| part.layout.mode(i).coalesce()).collect::<Result<Vec<_>, _>>()?;
            ComposedLayout { layout: Layout::concat(&modes)?, ..part }
        }
    };
    Ok((part, offset))
}

/// A picture of what was typed.
pub fn picture(what: Option<&str>, tile: Option<&str>, tiled: &Tiled, common: &Common) -> anyhow::Result<Picture> {
    let Some(text) = what else {
        return Ok(match tiled.kind(tiled.notation([], common))? {
            Kind::Copy(copy, _) => Picture::of_copy(&copy)?,
            Kind::Mma(mma) => Picture::of_mma(&mma).map_err(|e| tiled.arranged(e))?,
        });
    };
    if let Ok(swizzle) = text.parse::<Swizzle>() {
        return Ok(Picture::of_swizzle(&swizzle)?);
    }
    let owned = [text.to_owned(), tile.unwrap_or_default().to_owned()];
    let notation = Notation::of(&owned, common.dynamic);
    Ok(match tile {
        Some(tile) => Picture::of_tv(&notation.layout("a picture of threads", text)?, &notation.tuple(tile)?)?,
        None => Picture::of_layout(&notation.composed(text)?)?,
    })
}
