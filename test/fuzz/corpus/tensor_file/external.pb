Bxj
locationw.binp