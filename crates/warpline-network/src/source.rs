//! Where a network comes from, as `--topology` names it.
//!
//! Read by the command line and by configuration files.

use std::{fmt, path::PathBuf, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    error::FileError,
    formats, generators,
    topology::{Cable, NODES_MAX, Topology},
};

const SHAPES: &str = "expected fat-tree:K (K even), leaf-spine:LEAVESxSPINESxHOSTS, \
                      dragonfly:ROUTERSxHOSTSxGLOBALS, ring:N, grid:WIDTHxHEIGHT, or a file whose \
                      name has a dot or a slash";

/// A network, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Source {
    /// A fat tree of switches with so many ports.
    FatTree(u32),
    /// Leaves, spines, and hosts at each leaf.
    LeafSpine([u32; 3]),
    /// Routers of a group, hosts of a router, and links of a router to other groups.
    Dragonfly([u32; 3]),
    /// A ring of so many nodes.
    Ring(u32),
    /// A grid: its width and height.
    Grid([u32; 2]),
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Reads or makes the network. Links of a generated one are such cables.
    pub(crate) fn topology(&self, cable: Cable) -> Result<Topology, FileError> {
        Ok(match *self {
            Self::FatTree(k) => generators::fat_tree(k, cable),
            Self::LeafSpine([leaves, spines, hosts]) => {
                generators::leaf_spine(leaves, spines, hosts, cable)
            }
            Self::Dragonfly([routers, hosts, globals]) => {
                generators::dragonfly(routers, hosts, globals, cable)
            }
            Self::Ring(nodes) => generators::ring(nodes, cable),
            Self::Grid([width, height]) => generators::grid(width, height, cable),
            Self::File(ref path) => return formats::topology(path),
        })
    }

    /// How many nodes it has, if it is generated; more than there may be if there are too many.
    fn nodes(&self) -> Option<u64> {
        let wide = u64::from;
        match *self {
            Self::FatTree(k) => {
                let half = wide(k / 2);
                Some(half.saturating_mul(half).saturating_mul(wide(k) + 5))
            }
            Self::LeafSpine([leaves, spines, hosts]) => {
                Some(wide(leaves).saturating_mul(wide(hosts) + 1).saturating_add(wide(spines)))
            }
            Self::Dragonfly([routers, hosts, globals]) => {
                let groups = wide(routers).saturating_mul(wide(globals)).saturating_add(1);
                let of_group = wide(routers).saturating_mul(wide(hosts) + 1);
                Some(groups.saturating_mul(of_group))
            }
            Self::Ring(nodes) => Some(nodes.into()),
            Self::Grid([width, height]) => Some(wide(width).saturating_mul(height.into())),
            Self::File(_) => None,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FatTree(k) => write!(f, "fat-tree:{k}"),
            Self::LeafSpine([leaves, spines, hosts]) => {
                write!(f, "leaf-spine:{leaves}x{spines}x{hosts}")
            }
            Self::Dragonfly([routers, hosts, globals]) => {
                write!(f, "dragonfly:{routers}x{hosts}x{globals}")
            }
            Self::Ring(nodes) => write!(f, "ring:{nodes}"),
            Self::Grid([width, height]) => write!(f, "grid:{width}x{height}"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// The numbers of a shape, as `8x4`; none may be 0.
fn numbers<const N: usize>(text: &str) -> Result<[u32; N], String> {
    let parsed = text.split('x').map(|digits| digits.parse::<u32>().ok().filter(|&n| n > 0));
    let all: Option<Vec<u32>> = parsed.collect();
    all.and_then(|all| all.try_into().ok()).ok_or_else(|| SHAPES.to_owned())
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shape, sizes) = text.split_once(':').unwrap_or((text, ""));
        let source = match shape {
            "fat-tree" => {
                let [k] = numbers(sizes)?;
                if k % 2 > 0 {
                    return Err("a fat tree has switches with an even number of ports".to_owned());
                }
                Self::FatTree(k)
            }
            "leaf-spine" => Self::LeafSpine(numbers(sizes)?),
            "dragonfly" => Self::Dragonfly(numbers(sizes)?),
            "ring" => {
                let [nodes] = numbers(sizes)?;
                if nodes < 3 {
                    return Err("a ring has 3 nodes or more".to_owned());
                }
                Self::Ring(nodes)
            }
            "grid" => Self::Grid(numbers(sizes)?),
            _ if text.contains(['.', '/']) => Self::File(text.into()),
            _ => return Err(SHAPES.to_owned()),
        };
        match source.nodes() {
            Some(nodes) if nodes > NODES_MAX.into() => {
                Err(format!("at most {NODES_MAX} nodes, hosts and switches together"))
            }
            Some(1) => Err("a network has 2 nodes or more".to_owned()),
            _ => Ok(source),
        }
    }
}

impl TryFrom<String> for Source {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Source> for String {
    fn from(source: Source) -> Self {
        source.to_string()
    }
}
