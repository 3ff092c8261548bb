/** Runs all cases in every round, so that drift of the machine affects all of them. @returns the results by case */
export const runRounds = async <Result>(
  cases: ReadonlyMap<string, () => Promise<Result>>,
  rounds: number,
): Promise<(name: string) => Result[]> => {
  const results = new Map<string, Result[]>([...cases.keys()].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of cases) results.get(name)?.push(await run());
  }
  return (name) => results.get(name) ?? [];
};
