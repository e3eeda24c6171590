"""From a table nobody has looked at to one that can be shared: python examples/share_an_extract.py [FOLDER]

Everything happens on generated people, in the folder named on the command line (default: example).
"""

import sys
from pathlib import Path

import discreet
from discreet.people import write_demo

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "example")
files = write_demo(folder, people=100_000, seed=7)

# 1. What is in it, and which few columns single people out?
profile = discreet.profile(discreet.read(files.hospital))
for combination in profile.telling:
    print(f"{combination.unique:6,} people are alone on {', '.join(combination.columns)}")

# 2. What would publishing it risk, against a register that anybody can buy?
policy = discreet.Policy.load(files.policy)
hospital = discreet.read(files.hospital, policy=policy)
register = discreet.read(files.population, policy=policy.for_population())
before = discreet.assess(hospital, population=register)
print(f"before: {before.uniques:,} unique, {before.population_uniques:,} of them in the register too")

# 3. The least lossy table in which nobody is alone with fewer than four others.
safe = discreet.anonymise(hospital, k=5, suppression=0.05)
after = safe.assess(population=register)
print(f"after:  {after.uniques:,} unique, {safe.suppressed:,} people left out, loss {safe.loss:.3f}")
print(safe.certificate.words())

# 4. Write it; the file is read back and counted before it takes its place.
rows = safe.write(folder / "safe.csv", overwrite=True)
print(f"{rows:,} rows in {folder / 'safe.csv'}")
