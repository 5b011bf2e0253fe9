//! Decks: what is read, what is refused and how, and what is written.

use std::io;

use warpline_circuits::{
    circuit::{Channel, Circuit, Crossing, Direction, Measure, NetId, Pulse, Waveform},
    spice::{self, Deck},
};

fn include(_: &str, name: &str) -> io::Result<(String, String)> {
    let text = match name {
        "cards.lib" => {
            ".model nch nmos (level=1 vto=0.7 uo=350 tox=9n)\n.model pch pmos vto=-0.8 kp=40u"
        }
        _ => return Err(io::Error::new(io::ErrorKind::NotFound, "no such file")),
    };
    Ok((name.to_owned(), text.to_owned()))
}

fn read(text: &str) -> Result<Deck, String> {
    spice::read("a.cir", text, &mut include).map_err(|error| error.to_string())
}

/// A deck of these lines around an inverter.
fn with(lines: &str) -> Result<Deck, String> {
    let text = "inverter\n.include cards.lib\n.tran 10p 10n\nvdd vdd 0 3.3\n\
                va a 0 pulse(0 3.3 1n 0.2n 0.2n 4n 10n)\n\
                mn y a 0 0 nch w=1u l=0.5u\nmp y a vdd vdd pch w=2u l=0.5u\ncy y 0 10f\n";
    read(&format!("{text}{lines}"))
}

fn circuit(lines: &str) -> Circuit {
    with(lines).unwrap_or_else(|error| panic!("{error}")).circuit
}

/// What is wrong with a line: the 9th of the deck, or the place that the error names.
#[track_caller]
fn refused(lines: &str, expected: &str) {
    let error = with(lines).expect_err(lines);
    let error = error.strip_prefix("a.cir:9: ").unwrap_or(&error);
    assert_eq!(error, expected);
}

fn net(circuit: &Circuit, name: &str) -> NetId {
    let index = circuit.nets.iter().position(|net| net == name);
    NetId(index.unwrap_or_else(|| panic!("{name} in {:?}", circuit.nets)) as u32)
}

#[test]
fn an_inverter_is_read() {
    let deck = with("").expect("a deck");
    let circuit = deck.circuit;
    assert_eq!(circuit.title, "inverter");
    assert_eq!(circuit.nets, ["0", "vdd", "a", "y"]);
    assert_eq!((circuit.end, circuit.print_step), (10e-9, 10e-12));
    assert!(deck.notes.is_empty());
    let [n, p] = &circuit.transistors[..] else { panic!("{:?}", circuit.transistors) };
    assert_eq!((n.name.as_str(), n.width, n.length), ("mn", 1e-6, 0.5e-6));
    assert_eq!([p.drain, p.gate, p.source, p.bulk], [NetId(3), NetId(2), NetId(1), NetId(1)]);
    assert_eq!(circuit.cards[p.card].channel, Channel::P);
    assert_eq!(circuit.capacitors[0].capacitance, 10e-15);
    let pulse = Pulse {
        low: 0.0,
        high: 3.3,
        delay: 1e-9,
        rise: 0.2e-9,
        fall: 0.2e-9,
        width: 4e-9,
        period: 10e-9,
    };
    assert_eq!(circuit.sources[1].waveform, Waveform::Pulse(pulse));
}

#[test]
fn cards_have_the_defaults_of_spice() {
    let circuit = circuit("");
    let n = &circuit.cards[circuit.transistors[0].card];
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs();
    assert!(near(n.oxide, 3.83683e-3) && near(n.kp, 350e-4 * 3.83683e-3), "{n:?}");
    assert_eq!((n.phi, n.mj, n.mjsw, n.pb, n.gamma, n.lambda), (0.6, 0.5, 0.5, 0.8, 0.0, 0.0));
}

/// The numbers are those that ngspice 39 shows for these cards.
#[test]
fn doping_and_oxide_decide_what_a_card_leaves_out() {
    for (line, vto, kp, gamma, phi) in [
        (".model x nmos level=1 tox=20n nsub=1e16", 0.068_466_2, 1.035_94e-4, 0.333_698, 0.695_453),
        (
            ".model x pmos level=1 tox=20n nsub=1e16 tpg=-1 nss=1e10",
            -1.19283,
            1.035_94e-4,
            0.333_698,
            0.695_453,
        ),
        (".model x nmos level=1 uo=300", 0.0, 2e-5, 0.0, 0.6),
        (".model x nmos level=1 tox=20n kp=3e-5", 0.0, 3e-5, 0.0, 0.6),
    ] {
        let circuit = circuit(&format!("m1 y a 0 0 x\n{line}"));
        let card = circuit.cards.iter().find(|card| card.name == "x").expect("it is used");
        for (value, expected) in
            [(card.vto, vto), (card.kp, kp), (card.gamma, gamma), (card.phi, phi)]
        {
            assert!((value - expected).abs() <= 2e-5 * expected.abs(), "{line}: {card:?}");
        }
        assert_eq!((circuit.transistors[2].width, circuit.transistors[2].length), (1e-4, 1e-4));
    }
}

#[test]
fn subcircuits_are_expanded_with_their_parameters() {
    let circuit = circuit(
        ".param wn=1u beta = {ratio*1} ratio=2\n.global vdd\n\
         .subckt inv in out w={wn} extra=0\n.param wp='w*beta'\n.model own nmos kp={w*10}\n\
         .subckt load a\nc1 a 0 {1f + extra}\nc2 inner 0 1f\nr1 a inner 1k\n.ends load\n\
         m1 out in 0 0 own w=w l=0.5u m=2\nm2 out in vdd vdd pch w={wp} l=0.5u\n\
         x1 out load\n.ic v(x1.inner)=1\n.ends\n\
         x1 y n1 inv\nx2 n1 n2 inv params: w=3u extra={wn/1e9}\n.ic v(n2)=3.3",
    );
    let find = |name: &str| {
        let mos = circuit.transistors.iter().find(|mos| mos.name == name);
        mos.unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(find("m.x1.m1").width, 2e-6);
    assert_eq!(find("m.x1.m2").width, 2e-6);
    assert_eq!(find("m.x2.m1").width, 6e-6);
    assert_eq!(find("m.x2.m2").width, 3e-6 * 2.0);
    assert_eq!(find("m.x2.m2").bulk, net(&circuit, "vdd"));
    assert_eq!(find("m.x2.m1").gate, net(&circuit, "n1"));
    let kp = |name: &str| circuit.cards[find(name).card].kp;
    assert_eq!((kp("m.x1.m1"), kp("m.x2.m1")), (1e-6 * 10.0, 3e-6 * 10.0));
    let load = circuit.capacitors.iter().find(|c| c.name == "c.x2.x1.c1").expect("c1");
    assert_eq!((load.net, load.capacitance), (net(&circuit, "n2"), 1e-15 + 1e-6 / 1e9));
    let inner = [net(&circuit, "x1.x1.inner"), net(&circuit, "x2.x1.inner")];
    assert_eq!(circuit.initial, [(inner[0], 1.0), (inner[1], 1.0), (net(&circuit, "n2"), 3.3)]);
}

/// The parameter of the deck keeps its meaning where a subcircuit has one of the same name.
#[test]
fn a_parameter_is_evaluated_where_it_is_defined() {
    let circuit = circuit(
        ".param width={base*2} base=1u\n.subckt s y base=7u\nm1 y a 0 0 nch w={width}\n\
         m2 y a 0 0 nch w={base}\n.global a\n.ends\nx1 y s",
    );
    let widths: Vec<f64> = circuit.transistors[2..].iter().map(|mos| mos.width).collect();
    assert_eq!(widths, [2e-6, 7e-6]);
}

#[test]
fn elements_can_be_multiplied() {
    let circuit = circuit("r1 y b 1k m=4\nc1 b 0 c=1f m=3\nm1 b a 0 0 nch w=1u m=2 ad=1p ps=1u");
    assert_eq!(circuit.resistors[0].resistance, 250.0);
    assert_eq!(circuit.capacitors[1].capacitance, 3.0 * 1e-15);
    let mos = &circuit.transistors[2];
    assert_eq!(
        (mos.width, mos.junction_areas, mos.junction_perimeters),
        (2e-6, [2e-12, 0.0], [0.0, 2e-6])
    );
}

#[test]
fn sources_between_fixed_nets_are_put_to_ground() {
    let circuit = circuit(
        "v1 b vdd pwl(0 0 1n -1 2n 0)\nv2 0 c dc 1\nv3 vdd d 0.3 ac 1\nr1 b c 1k\nr2 d y 1k",
    );
    let waveform = |name: &str| {
        let net = net(&circuit, name);
        let source = circuit.sources.iter().find(|source| source.net == net);
        source.map(|source| source.waveform.clone()).unwrap_or_else(|| panic!("{name}"))
    };
    let points = vec![(0.0, 3.3), (1e-9, -1.0 + 3.3), (2e-9, 3.3)];
    assert_eq!(waveform("b"), Waveform::PiecewiseLinear(points));
    assert_eq!(waveform("c"), Waveform::Constant(-1.0));
    assert_eq!(waveform("d"), Waveform::Constant(-0.3 + 3.3));
}

#[test]
fn pulses_have_the_defaults_of_spice() {
    let circuit = circuit("v1 b 0 dc 0 pulse 0 1\nr1 b y 1k");
    let Waveform::Pulse(pulse) = circuit.sources[2].waveform else { panic!("a pulse") };
    assert_eq!((pulse.delay, pulse.rise, pulse.fall, pulse.width), (0.0, 1e-11, 1e-11, 1e-8));
    assert_eq!(pulse.period, f64::INFINITY);
    let zeros = self::circuit("v1 b 0 pulse(0 1 0 0 0 0 30n)\nr1 b y 1k");
    assert_eq!(zeros.sources[2].waveform, Waveform::Pulse(Pulse { period: 30e-9, ..pulse }));
}

#[test]
fn measures_and_saved_nets_are_read() {
    let circuit = circuit(
        ".param half={3.3/2}\n.measure tran d trig v(a) val={half} rise=1 targ V(Y) val='half' \
         fall=last td=1n\n.save v(y) a\n.print tran v(y)",
    );
    let crossing = |name, direction, ordinal, after| Crossing {
        net: net(&circuit, name),
        threshold: 1.65,
        direction,
        ordinal,
        after,
    };
    let trigger = crossing("a", Direction::Rise, Some(1), 0.0);
    let target = crossing("y", Direction::Fall, None, 1e-9);
    assert_eq!(circuit.measures, [Measure { name: "d".to_owned(), trigger, target }]);
    assert_eq!(circuit.saved, [net(&circuit, "y"), net(&circuit, "a")]);
}

#[test]
fn what_has_no_effect_is_noted() {
    let deck = with(
        ".options reltol=1e-4 method=gear\n.control\nrun\n.endc\n.op\n\
                     .plot tran v(y)",
    );
    let remark = "a.cir: no effect has .options reltol method (line 9), .control (lines 10 to 12), \
                  .op (line 13); the nets that are written are those of .plot (line 14)";
    assert_eq!(deck.expect("a deck").remark.as_deref(), Some(remark));
    assert_eq!(with(".save all").expect("a deck").remark, None);
}

/// All that is wrong is named at once, in the order of lines, and nothing that only follows from
/// it.
#[test]
fn all_errors_of_a_deck_are_told() {
    let text = "foundry\n.option scale=1u seed=3\n.model n nmos level=1 vto=0.7 theta=1 eta=2\n\
                .tran 1p\nvdd vdd 0 3\nv1 a 0 sin(0 1 1k)\nm1 y a 0 0 n w=1u l=1u\n\
                m2 y a vdd vdd p w=1u l=1u\nl1 y z 1n\nc1 y z 1p\nm3 q z 0 0 n w=1u l=1u\n\
                .nodeset v(y)=1\n.measure tran d find v(y) at=1n\n+ x\n";
    let text = read(text).expect_err("refused");
    let lines: Vec<_> = text.lines().collect();
    let places = |line: &&str| line.split(": ").next().map(str::to_owned);
    let found: Vec<_> = lines.iter().filter_map(places).collect();
    let expected = [2, 2, 3, 4, 6, 8, 9, 12, 13].map(|line| format!("a.cir:{line}"));
    assert_eq!(found, expected, "{text}");
    assert!(lines[2].contains("level 1 has no parameters `theta`, `eta`"), "{text}");
    assert!(lines[6].contains("`l1` is an inductor"), "{text}");
}

/// A file that cannot be included has the models, and perhaps the `.tran`.
#[test]
fn what_follows_from_an_error_is_not_told() {
    let text = "t\n.include gone.lib\nvdd vdd 0 3\nm1 y vdd 0 0 nch w={wn} l=1u\nx1 y b sub\n\
                m2 b a 0 0 nch\n.save v(b) v(x1.c)\n";
    assert_eq!(
        read(text).expect_err("refused"),
        "a.cir:2: `gone.lib` cannot be read: no such file; names are relative to the file that \
         includes"
    );
}

/// The first line is the title, whatever it looks like.
#[test]
fn a_deck_that_begins_with_a_card_is_told_that_its_title_is_missing() {
    let hint = "write a line with a title above it";
    let text = ".model nch nmos kp=1u\n.tran 1p 1n\nv1 a 0 1\nm1 a a 0 0 nch w=1u l=1u\n";
    assert_eq!(
        read(text).expect_err("refused"),
        format!(
            "a.cir:1: line 1 is the title, so `.model nch nmos kp=1u` is not read; {hint}\n\
             a.cir:4: there is no model `nch`; write .model nch nmos (...)"
        )
    );
    let rest = "\n.tran 1p 1n\nv1 a 0 1\nr1 a 0 1k\n";
    let remark = |title: &str| read(&format!("{title}{rest}")).expect("a deck").remark;
    assert!(remark("r2 a 0 1k").is_some_and(|remark| remark.contains("the title")));
    for title in ["m1 is the title", "ring of three", "chain of 21 inverters", "* .tran 1n", ""] {
        assert_eq!(remark(title), None, "{title}");
    }
}

/// A deck with errors in each line is not told of more than can be read.
#[test]
fn errors_have_a_limit() {
    let lines: String = (0..1000).map(|number| format!("l{number} a b 1n\n")).collect();
    let text = with(&lines).expect_err("refused");
    assert_eq!(text.lines().count(), 21, "{text}");
    assert!(text.ends_with("; mend them, and run again"), "{text}");
}

#[test]
fn elements_that_are_not_simulated_are_refused() {
    refused(
        "l1 y b 1n",
        "`l1` is an inductor; only M, C, R, V and X elements are simulated: remove it",
    );
    for line in ["d1 y 0 d", "q1 a b c q", "b1 y 0 v=1", "i1 y 0 1", "e1 y 0 a 0 1", "k1 l1 l2 1"] {
        let error = with(line).expect_err(line);
        assert!(error.contains("only M, C, R, V and X elements are simulated"), "{error}");
    }
    refused(
        "c1 y z 1p",
        "`c1` couples two nets that no source fixes; put a capacitor from each of the two nets to \
         ground instead",
    );
    refused(
        "v1 y z 0",
        "`v1` is between nets that no source fixes; put one of its ends to ground or to a net with \
         a DC source; to measure a current is not supported: use one net instead of the two",
    );
    refused(
        "v1 a 0 1",
        "`v1` is at the net `a`, which is fixed already; remove one of the sources",
    );
    refused(
        "v1 b 0 sin(0 1 1k)",
        "`sin` is no waveform of a voltage source here; use DC, PULSE or PWL",
    );
    refused(
        "mx y a 0 y nch",
        "the bulk of `mx` is `y`, which no source fixes; put it to ground or to a supply",
    );
    refused(
        "mx y typo 0 0 nch",
        "the gate of `mx` is `typo`, which nothing drives; is the name right? give the net a \
         source or a transistor",
    );
}

/// They would take for ever, or write files without end.
#[test]
fn absurd_stimuli_are_refused() {
    refused(
        "v1 b 0 pulse(0 1 1n 0 0 0 1e-30)\nr1 b y 1k",
        "rise, width and fall of the PULSE are longer than its period; give a shorter width, or a \
         longer period",
    );
    refused(
        "v1 b 0 pulse(0 1 1n 1e-32 1e-32 1e-32 1e-30)\nr1 b y 1k",
        "the PULSE is repeated 9.0e21 times within .tran; give a longer period, or end .tran \
         earlier",
    );
    assert!(with("v1 b 0 pulse(0 1 20n 1e-32 1e-32 1e-32 1e-30)\nr1 b y 1k").is_ok());
    for (tran, error) in [
        (
            "10p 1e9",
            ".tran has 1e9 s, which would take for ever; end it after 1000 s at most; gates \
             switch within nanoseconds",
        ),
        ("1e-30 1n", ".tran asks for 1.0e21 points; write a STEP of 1e-18 or more"),
    ] {
        let refused = read(&format!("title\n.tran {tran}\n")).expect_err(tran);
        assert_eq!(refused, format!("a.cir:2: {error}"));
    }
}

#[test]
fn models_that_are_not_simulated_are_refused() {
    refused(
        ".model x nmos level=54\nm1 y a 0 0 x",
        "the model is of level 54; only level 1 (Shichman and Hodges) is simulated: fit a card of \
         level 1 to it",
    );
    refused(
        ".model x nmos kp=1u lmin=1u\nm1 y a 0 0 x",
        "the model is for a range of sizes (lmin); write one model for all sizes, without bins",
    );
    refused(
        ".model x npn\nm1 y a 0 0 x",
        "the model `x` is of kind `npn`; transistors are nmos or pmos",
    );
    refused(".model x nmos theta=1\nm1 y a 0 0 x", "level 1 has no parameter `theta`; remove it");
    refused(
        ".model x nmos rd=1\nm1 y a 0 0 x",
        "rd is not supported; draw a resistor at the drain",
    );
    refused(
        ".model x nmos phi=0\nm1 y a 0 0 x",
        "phi of model `x` is out of range; give a number greater than 0",
    );
    refused("m1 y a 0 0 x", "there is no model `x`; write .model x nmos (...)");
    refused(
        "m1 y a 0 0 nch w=1u temp=30",
        "`m1` cannot have `temp`=; remove it; known are w, l, m, ad, as, pd, ps, nrd, nrs",
    );
}

#[test]
fn analyses_that_are_not_simulated_are_refused() {
    refused(".ac dec 10 1 1g", "`.ac` is not supported; remove it: only .tran is simulated");
    refused(
        ".nodeset v(y)=1",
        "`.nodeset` is not supported; write .ic, which holds the net until time 0",
    );
    refused(
        ".temp 85",
        "the temperature is 85; write 27: cards hold for 27 degrees, and are not scaled",
    );
    refused(
        ".option scale=1u",
        "the option `scale` is not supported; remove it; write sizes and values where they belong",
    );
    refused(
        ".print tran i(vdd)",
        "`i` of .print is not supported; only voltages are known: write v(NET)",
    );
    refused(".ic v(a)=1", ".ic is for `a`, which a source fixes; remove it from the .ic line");
    refused(
        "r1 z z 1\n.ic v(z)=1",
        "a.cir:10: .ic is for `z`, where no element is; remove it from the .ic line",
    );
    refused(".ic v(y)=1 v(y)=1", ".ic is for `y` twice; remove it from the .ic line");
    refused(
        ".ic v(z)=1",
        ".ic is for `v`(z), which is no net; write .ic v(NET)=VOLTAGE with a net of the circuit",
    );
    refused(
        ".save v(z)",
        "there is no net `z`; name a net of the circuit; a net in a subcircuit is x1.NET",
    );
    let measure = "write .measure tran NAME trig v(NET) val=VOLTAGE rise=1 targ v(NET) val=VOLTAGE \
                   fall=1";
    refused(".meas tran x max v(y)", &format!("`max` of .measure is not supported; {measure}"));
    assert_eq!(
        read("title\nr1 a 0 1"),
        Err("a.cir: the deck has no .tran; write .tran STEP END, as in .tran 10p 20n".to_owned())
    );
    assert_eq!(
        read("title\n.tran 1n 1u uic"),
        Err(
            "a.cir:2: uic is not supported; remove it: the DC point is found first, and .ic holds \
             nets there"
                .to_owned()
        )
    );
}

#[test]
fn subcircuits_that_cannot_be_expanded_are_refused() {
    refused("x1 a y inv", "there is no subcircuit `inv`; write .subckt inv ..., or include it");
    refused(
        ".subckt s a\n.ends t",
        "a.cir:10: .ends t does not end the subcircuit that begins at a.cir:9; \
         write its name, or none",
    );
    refused(".subckt s a", "the subcircuit does not end; write .ends behind its last element");
    let others_name = with(".subckt t a\n.ends\n.subckt s a\n.ends t").expect_err("not its end");
    assert!(others_name.contains(".ends t does not end the subcircuit"), "{others_name}");
    refused(
        ".subckt s a b\nr1 a b 1\n.ends\nx1 y s",
        "a.cir:12: `x1` has 1 nets, and `s` has 2; give a net for each net of its .subckt line",
    );
    refused(
        ".subckt s a\nr1 a 0 1\n.ends\nx1 y s w=1",
        "a.cir:12: `w` is no parameter of `s`; the .subckt line names the parameters: set each \
         once",
    );
    refused(
        ".subckt s a\nx1 a s\n.ends\nx1 y s",
        "a.cir:10: instances are nested more than 64 deep; does `s` contain itself?",
    );
    refused(
        "r1 y 0 {a*2}\n.param a={b} b={a}",
        "a.cir:10: the parameter `a` depends on itself, or on more than 128 others in a \
         row; give one of them a number",
    );
    refused(
        "r1 y 0 {1/0}",
        "the value of an expression is inf; look for a division by 0 or a huge number",
    );
    refused(
        "r1 y 0 4k7",
        "`4k7` is no value; write a number such as 10n, or an expression in braces",
    );
    refused(
        ".param a = 1 + 2",
        ".param has `+ 2` where NAME=VALUE belongs; write expressions with blanks in \
         braces, as in a={1 + 2}",
    );
    refused(
        "mn y a 0 0 nch",
        "`mn` is there already, at a.cir:6; give one of the two another name",
    );
}

/// Each level has two instances of the one below: without a limit it takes 2^40 elements.
#[test]
fn a_small_deck_cannot_expand_to_a_huge_circuit() {
    let mut text = "bomb\n.tran 1p 1n\n.subckt s0 a\nr1 a 0 1\n.ends\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text += &format!(".subckt s{level} a\nx1 a s{below}\nx2 a s{below}\n.ends\n");
    }
    text += "x1 a s39";
    let error = spice::read_within("a.cir", &text, &mut include, 1 << 20).expect_err("too many");
    let error = error.to_string();
    assert!(error.contains("expand to more than fits"), "DECK-B: {error}");
}
