// Networks that visitors open: the service reads their files, and this browser keeps small ones, so that they can be
// opened again.

import { download, told } from "./elements.js";
import { read, tried, write } from "./storage.js";

const LARGEST = 24e6; // bytes; they are sent as words, which takes a third more
const KEPT = "plefka-networks";
const LARGEST_KEPT = 5e5; // letters
const MOST_KEPT = 6;

// {name of a file: its content in base64}, as the service takes it
export async function contentsOf(files) {
	const large = files.find(({ size }) => size > LARGEST);
	if (large) throw new Error(told("too-large-network", large.name, Math.ceil(large.size / 1e6), large.name));
	return Object.fromEntries(await Promise.all(files.map(contentOf)));
}

const contentOf = (file) =>
	new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve([file.name, reader.result.split(",")[1]]);
		reader.onerror = () => reject(new Error(`${file.name} could not be read. Is it a file, and still there?`));
		reader.readAsDataURL(file);
	});

// The same, as files that the browser saves.
export function downloadAll(files) {
	for (const [name, content] of Object.entries(files)) {
		const bytes = Uint8Array.from(atob(content), (letter) => letter.codePointAt(0));
		download(bytes, ...name.split(/\.(?=\w+$)/));
	}
}

// Goes to a network in the place of the one on the page. hash(answer): the case that it begins with, as in an address.
export async function openNetwork(service, files, hash) {
	const found = await service.post("networks", { files });
	const { network, name } = found;
	const record = { network, name, remarks: remarksOf(found), files, opened: Date.now() };
	if (JSON.stringify(files).length < LARGEST_KEPT) keep([record, ...keptNetworks(network)]);
	const part = hash(found);
	if (network === service.network) location.reload();
	else location.assign(`${location.pathname}?network=${network}${part}`);
}

export const remarksOf = ({ notes, suspicions }) => [...notes, ...suspicions.map((each) => each.sentence)];

// Without a suffix. The service shows underscores as spaces.
export const fileName = (name) => name.trim().replace(/[^\p{L}\p{Nd}_-]+/gu, "_").slice(0, 80) || "network";

// What this browser keeps, newest first: [{network, name, remarks, files, opened}]
export const keptNetworks = (without = null) =>
	tried(() => JSON.parse(read(KEPT)).filter(({ network }) => network !== without), []);

export const forget = (key) => keep(keptNetworks(key));

const keep = (networks) => write(KEPT, JSON.stringify(networks.slice(0, MOST_KEPT)));
