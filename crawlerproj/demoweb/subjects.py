"""The words of the topics that pages are about (see topics.py)."""

SUBJECT_WORDS = {
    "astronomy": (
        "star planet orbit telescope galaxy comet nebula eclipse lunar solar meteor asteroid spectrum "
        "observatory gravity constellation supernova pulsar redshift parallax equinox satellite "
        "crater corona"
    ),
    "sailing": (
        "sail mast rudder keel harbour anchor wind tack gybe hull deck rope knot tide compass chart "
        "regatta skipper crew rigging jib spinnaker mooring buoy"
    ),
    "cooking": (
        "recipe flour oven butter onion garlic simmer roast dough spice pepper basil knead broth "
        "pastry saucepan yeast grill vinegar caramel marinade whisk skillet dessert"
    ),
    "chess": (
        "pawn rook bishop knight queen king checkmate gambit opening endgame castling fork pin "
        "sacrifice tournament grandmaster board clock stalemate promotion fianchetto tempo zugzwang "
        "exchange"
    ),
    "geology": (
        "basalt granite magma fault strata sediment fossil quartz erosion mantle crust tectonic "
        "volcano limestone mineral glacier moraine schist gneiss lava seismic canyon feldspar shale"
    ),
}
