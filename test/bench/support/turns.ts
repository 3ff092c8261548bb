/** Lets cases take turns for some rounds, so that a machine that slows down slows all of them. @returns what each gave, by its name */
export const takeTurns = async <Result>(
  cases: ReadonlyMap<string, () => Promise<Result>>,
  rounds: number,
): Promise<(name: string) => Result[]> => {
  const given = new Map<string, Result[]>([...cases.keys()].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of cases) given.get(name)?.push(await run());
  }
  return (name) => given.get(name) ?? [];
};
