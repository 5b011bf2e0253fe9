//! The motorways of mainland Italy, as a table of our own.
//!
//! Junctions are interchanges of two motorways, borders, and cities at the ends of motorways. The
//! lengths are those between the interchanges in kilometers of the road, rounded, as the signs and
//! the operators' published kilometer posts give them; positions are rounded to a hundredth of a
//! degree. They are facts that anybody can look up on a road map; no table was copied. The islands
//! are left out, so that the network is connected (NUMA paper, section 4).

use crate::network::{Coordinates, DEFAULT_INTERARRIVAL, DEFAULT_LEAVE, Junction, Network, Route};

/// Name, degrees of longitude and of latitude. From south to north, roughly: logical processes are
/// numbered from the first one.
#[rustfmt::skip]
const JUNCTIONS: &[(&str, f64, f64)] = &[
    ("Reggio Calabria", 15.66, 38.12), ("Lamezia Terme", 16.26, 38.91), ("Cosenza", 16.22, 39.33),
    ("Sicignano", 15.32, 40.57), ("Salerno", 14.80, 40.69), ("Napoli", 14.32, 40.89),
    ("Caserta", 14.35, 41.06), ("Avellino", 14.81, 40.93),
    ("Canosa", 16.05, 41.21), ("Bari", 16.79, 41.10), ("Taranto", 17.05, 40.62),
    ("Foggia", 15.58, 41.48), ("Pescara", 14.14, 42.42), ("Giulianova", 13.93, 42.77),
    ("Ancona", 13.40, 43.56), ("Rimini", 12.55, 44.03), ("Roma Sud", 12.70, 41.85),
    ("Roma Nord", 12.62, 42.03), ("Roma Ovest", 12.37, 41.83), ("Civitavecchia", 11.83, 42.11),
    ("Torano", 13.27, 42.16), ("L'Aquila", 13.37, 42.36), ("Orte", 12.41, 42.46),
    ("Firenze Sud", 11.32, 43.74), ("Firenze Nord", 11.17, 43.84), ("Lucca", 10.51, 43.83),
    ("Pisa", 10.36, 43.75), ("Viareggio", 10.26, 43.87), ("Rosignano", 10.46, 43.38),
    ("La Spezia", 9.89, 44.13), ("Genova", 8.92, 44.41), ("Voltri", 8.76, 44.43),
    ("Savona", 8.45, 44.31), ("Ventimiglia", 7.58, 43.80), ("Bologna", 11.30, 44.52),
    ("Ferrara", 11.58, 44.85), ("Modena", 10.87, 44.66), ("Parma", 10.24, 44.84),
    ("Piacenza", 9.73, 45.03), ("Cremona", 10.06, 45.15), ("Brescia", 10.20, 45.50),
    ("Verona", 10.93, 45.41), ("Vicenza", 11.58, 45.52), ("Padova", 11.93, 45.43),
    ("Venezia", 12.22, 45.51), ("Portogruaro", 12.82, 45.79), ("Palmanova", 13.29, 45.89),
    ("Trieste", 13.73, 45.67), ("Tarvisio", 13.60, 46.51), ("Belluno", 12.28, 46.13),
    ("Trento", 11.10, 46.10), ("Brennero", 11.50, 47.00), ("Milano", 9.19, 45.46),
    ("Lainate", 9.03, 45.57), ("Como", 9.04, 45.83), ("Tortona", 8.88, 44.91),
    ("Alessandria", 8.68, 44.88), ("Torino", 7.72, 45.07), ("Santhia", 8.17, 45.37),
    ("Gravellona", 8.43, 45.93), ("Aosta", 7.33, 45.73),
];

/// Motorway, from, to, kilometers.
#[rustfmt::skip]
const ROUTES: &[(&str, &str, &str, f64)] = &[
    ("A1", "Milano", "Piacenza", 57.0), ("A1", "Piacenza", "Parma", 47.0),
    ("A1", "Parma", "Modena", 54.0), ("A1", "Modena", "Bologna", 33.0),
    ("A1", "Bologna", "Firenze Nord", 86.0), ("A1", "Firenze Nord", "Firenze Sud", 23.0),
    ("A1", "Firenze Sud", "Orte", 191.0), ("A1", "Orte", "Roma Nord", 45.0),
    ("A1", "Roma Nord", "Roma Sud", 33.0), ("A1", "Roma Sud", "Caserta", 163.0),
    ("A1", "Caserta", "Napoli", 22.0), ("A2", "Salerno", "Sicignano", 50.0),
    ("A2", "Sicignano", "Cosenza", 209.0), ("A2", "Cosenza", "Lamezia Terme", 61.0),
    ("A2", "Lamezia Terme", "Reggio Calabria", 122.0), ("A3", "Napoli", "Salerno", 52.0),
    ("A4", "Torino", "Santhia", 45.0), ("A4", "Santhia", "Milano", 80.0),
    ("A4", "Milano", "Brescia", 91.0), ("A4", "Brescia", "Verona", 66.0),
    ("A4", "Verona", "Vicenza", 55.0), ("A4", "Vicenza", "Padova", 29.0),
    ("A4", "Padova", "Venezia", 27.0), ("A4", "Venezia", "Portogruaro", 59.0),
    ("A4", "Portogruaro", "Palmanova", 43.0), ("A4", "Palmanova", "Trieste", 42.0),
    ("A5", "Torino", "Aosta", 109.0), ("A5", "Santhia", "Aosta", 87.0),
    ("A6", "Torino", "Savona", 124.0), ("A7", "Milano", "Tortona", 68.0),
    ("A7", "Tortona", "Genova", 62.0), ("A8", "Milano", "Lainate", 14.0),
    ("A9", "Lainate", "Como", 32.0), ("A26", "Lainate", "Gravellona", 73.0),
    ("A10", "Genova", "Voltri", 14.0), ("A10", "Voltri", "Savona", 31.0),
    ("A10", "Savona", "Ventimiglia", 113.0), ("A11", "Firenze Nord", "Lucca", 61.0),
    ("A11", "Lucca", "Pisa", 20.0), ("A11", "Lucca", "Viareggio", 18.0),
    ("A12", "Genova", "La Spezia", 91.0), ("A12", "La Spezia", "Viareggio", 38.0),
    ("A12", "Viareggio", "Pisa", 20.0), ("A12", "Pisa", "Rosignano", 45.0),
    ("A12", "Civitavecchia", "Roma Ovest", 60.0), ("A90", "Roma Ovest", "Roma Sud", 31.0),
    ("A13", "Bologna", "Ferrara", 40.0),
    ("A13", "Ferrara", "Padova", 76.0), ("A14", "Bologna", "Rimini", 114.0),
    ("A14", "Rimini", "Ancona", 96.0), ("A14", "Ancona", "Giulianova", 104.0),
    ("A14", "Giulianova", "Pescara", 53.0), ("A14", "Pescara", "Foggia", 172.0),
    ("A14", "Foggia", "Canosa", 52.0), ("A14", "Canosa", "Bari", 73.0),
    ("A14", "Bari", "Taranto", 67.0), ("A15", "Parma", "La Spezia", 108.0),
    ("A16", "Napoli", "Avellino", 49.0), ("A30", "Caserta", "Salerno", 55.0),
    ("A16", "Avellino", "Canosa", 124.0), ("A21", "Torino", "Alessandria", 77.0),
    ("A21", "Alessandria", "Tortona", 21.0), ("A21", "Tortona", "Piacenza", 66.0),
    ("A21", "Piacenza", "Cremona", 27.0), ("A21", "Cremona", "Brescia", 47.0),
    ("A22", "Brennero", "Trento", 130.0), ("A22", "Trento", "Verona", 90.0),
    ("A22", "Verona", "Modena", 90.0), ("A23", "Palmanova", "Tarvisio", 119.0),
    ("A24", "Roma Nord", "Torano", 62.0), ("A24", "Torano", "L'Aquila", 33.0),
    ("A24", "L'Aquila", "Giulianova", 60.0), ("A25", "Torano", "Pescara", 115.0),
    ("A26", "Voltri", "Alessandria", 64.0), ("A26", "Alessandria", "Santhia", 67.0),
    ("A27", "Venezia", "Belluno", 82.0),
];

/// The network.
#[must_use]
pub fn network() -> Network {
    let mut italy = Network { geographic: true, ..Network::default() };
    for &(name, x, y) in JUNCTIONS {
        let added = italy.add_junction(Junction {
            name: name.to_owned(),
            at: Some(Coordinates { x, y }),
            interarrival: Some(DEFAULT_INTERARRIVAL),
            leave: DEFAULT_LEAVE,
        });
        added.expect("the table is sound");
    }
    let number = |name: &str| {
        let found = JUNCTIONS.iter().position(|(junction, ..)| *junction == name);
        found.expect("both ends of a route are in the table")
    };
    for &(name, from, to, km) in ROUTES {
        let (name, from, to) = (format!("{name} {from} - {to}"), number(from), number(to));
        let added = italy.add_route(Route { name, from, to, km, one_way: false });
        added.expect("the table is sound");
    }
    italy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's 137 LPs are one for each junction and route; every junction can be reached; and
    /// no route is much shorter than a straight line, or much longer.
    #[test]
    fn the_table_is_plausible() {
        let italy = network();
        assert_eq!((italy.junctions.len(), italy.routes.len()), (61, 76));
        let mut reached = vec![false; 61];
        reached[0] = true;
        for _ in 0..61 {
            for route in &italy.routes {
                let either = reached[route.from] || reached[route.to];
                (reached[route.from], reached[route.to]) = (either, either);
            }
        }
        assert!(reached.iter().all(|&reached| reached), "{reached:?}");
        for route in &italy.routes {
            let [from, to] =
                [route.from, route.to].map(|n| italy.junctions[n].at.expect("a place"));
            let shrink = libm::cos(((from.y + to.y) / 2.0).to_radians());
            let km = 111.2 * libm::hypot((from.x - to.x) * shrink, from.y - to.y);
            let ratio = route.km / km;
            assert!(
                (0.75..1.7).contains(&ratio),
                "{}: {} km, {km:.0} straight",
                route.name,
                route.km
            );
        }
    }
}
