//! The map as PNG: a rendering of the SVG, with an embedded font.

use std::io;

use resvg::{
    tiny_skia::{Pixmap, Transform},
    usvg::{Options, Tree},
};

/// A rendering of an SVG document, at twice its size.
pub(super) fn render(svg: &str) -> io::Result<Vec<u8>> {
    const ZOOM: f32 = 2.0;
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(notosans::REGULAR_TTF.to_vec());
    // The SVG asks for any sans-serif font; this is the only one that is loaded.
    fonts.set_sans_serif_family("Noto Sans");
    let tree = Tree::from_str(svg, &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size().scale_by(ZOOM);
    let pixmap = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixmap = pixmap.ok_or_else(|| io::Error::other("the picture has no size"))?;
    resvg::render(&tree, Transform::from_scale(ZOOM, ZOOM), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(io::Error::other)
}
