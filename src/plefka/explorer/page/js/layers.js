// Which units of a neighbourhood are shown, and where: causes in a layer before that of what they cause.

const emptyLists = (names) => new Map(names.map((name) => [name, []]));

// The names that are shown: `each` of every distance, those that are worth most first, if something shown leads there.
export function chosen({ nodes, edges }, centres, each, worth) {
	const beside = emptyLists(nodes.map(({ name }) => name));
	for (const { parent, child } of edges) {
		beside.get(parent)?.push(child);
		beside.get(child)?.push(parent);
	}
	const kept = new Set(centres);
	const furthest = Math.max(...nodes.map(({ hops }) => hops));
	for (let hops = 1; hops <= furthest; hops += 1) {
		const reached = nodes.filter((node) => node.hops === hops && beside.get(node.name).some((name) => kept.has(name)));
		const order = reached.map(({ name }) => [name, worth(name)]).sort(([, a], [, b]) => b - a);
		for (const [name] of order.slice(0, hops === 1 ? each : each / 2)) kept.add(name);
	}
	return [...kept];
}

// Names by layer, each near what it is linked with.
export function layered(names, edges) {
	const [parents, children] = [emptyLists(names), emptyLists(names)];
	for (const { parent, child } of edges) {
		parents.get(child).push(parent);
		children.get(parent).push(child);
	}
	const levels = levelsOf(names, parents, children);
	const used = [...new Set(levels.values())].sort((a, b) => a - b);
	const layers = used.map((level) => names.filter((name) => levels.get(name) === level));
	const places = new Map();
	const place = (layer) => layer.forEach((name, k) => places.set(name, (k + 0.5) / layer.length));
	layers.forEach(place);
	for (const others of [parents, children, parents, children])
		for (const layer of others === parents ? layers : [...layers].reverse()) {
			const middle = (name) => {
				const ends = others.get(name);
				return ends.length ? ends.reduce((sum, end) => sum + places.get(end), 0) / ends.length : places.get(name);
			};
			const middles = new Map(layer.map((name) => [name, middle(name)]));
			layer.sort((a, b) => middles.get(a) - middles.get(b));
			place(layer);
		}
	return layers;
}

// The longest way from a unit without parents; such a unit stands right before the first of its children.
function levelsOf(names, parents, children) {
	const levels = new Map();
	const level = (name) => {
		if (!levels.has(name)) levels.set(name, Math.max(0, ...parents.get(name).map((parent) => level(parent) + 1)));
		return levels.get(name);
	};
	names.forEach(level);
	for (const name of names)
		if (!parents.get(name).length && children.get(name).length)
			levels.set(name, Math.min(...children.get(name).map(level)) - 1);
	return levels;
}
