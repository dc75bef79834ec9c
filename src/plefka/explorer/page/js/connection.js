// What the reader sees of the service: that it is gone and comes back, and that it wants a token.

import { announce, byId } from "./elements.js";
import { Unreachable } from "./service.js";

export function showConnection(service) {
	const box = byId("connection");
	byId("connection-retry").addEventListener("click", () => service.tryAgain());
	service.addEventListener("lost", () => {
		box.hidden = false;
		const wait = service.wait === 1 ? "1 second" : `${service.wait} seconds`;
		byId("connection-text").textContent =
			`The service does not answer. Your case is kept on this page. The next try is in ${wait}.`;
	});
	service.addEventListener("recovered", () => {
		box.hidden = true;
		announce("The service answers again.");
	});
}

// isWrong: a token was sent, and was refused
export function askForToken(isWrong) {
	const dialog = byId("token-dialog");
	if (isWrong)
		byId("token-text").textContent =
			"The service refused this token. Enter the one that was shown when it was started.";
	dialog.addEventListener("cancel", (event) => event.preventDefault());
	dialog.showModal();
	return new Promise((resolve) => {
		byId("token-form").addEventListener(
			"submit",
			() => {
				resolve(byId("token").value.trim());
				byId("token").value = "";
			},
			{ once: true },
		);
	});
}

// The first answers, however long the service takes to come.
export async function load(service) {
	try {
		return await Promise.all(["network", "units/names", "examples"].map((path) => service.get(path)));
	} catch (error) {
		if (!(error instanceof Unreachable)) throw error;
		await new Promise((resolve) => {
			service.addEventListener("recovered", resolve, { once: true });
		});
		return load(service);
	}
}
