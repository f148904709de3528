module muster.test/walk

go 1.26.0
