/** The members of each group, in their order, by its key. */
export function groupedBy<Member>(
  members: readonly Member[],
  keyOf: (member: Member) => string,
): Map<string, Member[]> {
  const groups = new Map<string, Member[]>();

  for (const member of members) {
    const key = keyOf(member);
    const group = groups.get(key);

    if (group === undefined) groups.set(key, [member]);
    else group.push(member);
  }

  return groups;
}
