//! Tilers and coordinates as they are typed or read, before they are borrowed by the algebra.

use warpwright::layout::{Coord, Int, IntTuple, Layout, LayoutError, Tiler};

/// `_`, an integer, a layout, or a list of such.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// `_`
    All,
    /// `16`
    Int(Int),
    /// `(4,2):(1,8)`
    Layout(Box<Layout>),
    /// `(16,_)`
    List(Vec<Tree>),
}

impl Tree {
    fn nodes(&self) -> usize {
        match self {
            Tree::List(modes) => 1 + modes.iter().map(Tree::nodes).sum::<usize>(),
            _ => 1,
        }
    }

    /// Whatever the tree is must fit a tuple; this also bounds the recursion below.
    fn check(&self) -> Result<(), LayoutError> {
        if self.nodes() > IntTuple::MAX_TOKENS { Err(LayoutError::TooLarge) } else { Ok(()) }
    }

    /// `f` of the tree as a tiler.
    pub fn tiler<R>(&self, mut f: impl FnMut(&Tiler<'_>) -> Result<R, LayoutError>) -> Result<R, LayoutError> {
        self.check()?;
        self.tiler_at(&mut f)
    }

    fn tiler_at<R>(&self, f: &mut dyn FnMut(&Tiler<'_>) -> Result<R, LayoutError>) -> Result<R, LayoutError> {
        match self {
            Tree::All => f(&Tiler::Keep),
            Tree::Int(n) => f(&Tiler::Size(*n)),
            Tree::Layout(layout) => f(&Tiler::Layout(layout)),
            Tree::List(modes) => tilers(modes, &[], f),
        }
    }

    /// `f` of the tree as a coordinate, in which a layout has no meaning.
    pub fn coord<R>(&self, mut f: impl FnMut(&Coord<'_>) -> Result<R, LayoutError>) -> Result<R, LayoutError> {
        self.check()?;
        self.coord_at(&mut f)
    }

    fn coord_at<R>(&self, f: &mut dyn FnMut(&Coord<'_>) -> Result<R, LayoutError>) -> Result<R, LayoutError> {
        match self {
            Tree::All => f(&Coord::All),
            Tree::Int(n) => f(&Coord::At(n.value())),
            Tree::Layout(_) => Err(LayoutError::Parse { at: 0, expected: "a coordinate: integers, `_` and tuples" }),
            Tree::List(modes) => coords(modes, &[], f),
        }
    }

    /// The tree as a tuple of integers.
    pub fn tuple(&self) -> Result<IntTuple, LayoutError> {
        self.check()?;
        match self {
            Tree::Int(n) => Ok(IntTuple::leaf(*n)),
            Tree::List(modes) => IntTuple::tuple(&modes.iter().map(Tree::tuple).collect::<Result<Vec<_>, _>>()?),
            Tree::All | Tree::Layout(_) => {
                Err(LayoutError::Parse { at: 0, expected: "integers and tuples of integers alone" })
            }
        }
    }
}

/// Each mode borrows from the frame that made it, so the list grows by recursion.
fn tilers<R>(
    rest: &[Tree],
    done: &[Tiler<'_>],
    f: &mut dyn FnMut(&Tiler<'_>) -> Result<R, LayoutError>,
) -> Result<R, LayoutError> {
    let Some((first, rest)) = rest.split_first() else { return f(&Tiler::ByMode(done)) };
    first.tiler_at(&mut |tiler| {
        let mut done = done.to_vec();
        done.push(*tiler);
        tilers(rest, &done, f)
    })
}

fn coords<R>(
    rest: &[Tree],
    done: &[Coord<'_>],
    f: &mut dyn FnMut(&Coord<'_>) -> Result<R, LayoutError>,
) -> Result<R, LayoutError> {
    let Some((first, rest)) = rest.split_first() else { return f(&Coord::ByMode(done)) };
    first.coord_at(&mut |coord| {
        let mut done = done.to_vec();
        done.push(*coord);
        coords(rest, &done, f)
    })
}
