module stepwell/bench/peers/go

go 1.22
