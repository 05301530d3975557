//! GraphML (<http://graphml.graphdrawing.org>), as written by Topology Zoo, networkx and TopoHub.

use std::collections::BTreeMap;

use roxmltree::{Document, Node, ParsingOptions};

use crate::ImportError;
use crate::attributes::{Attributes, label, place, stated};
use crate::topology::{Kind, Reader};

/// The largest number of elements and texts in a file.
const MOST_ELEMENTS: u32 = 4_000_000;

pub fn read(text: &str, reader: &mut Reader<'_>) -> Result<(), ImportError> {
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MOST_ELEMENTS, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| reader.error(error.pos().row as usize, format!("this is not XML: {error}")))?;
    // To find the line of a position, the parser reads the text up to there. So the lines of all elements are
    // counted once.
    let breaks: Vec<usize> =
        text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at).collect();
    let line = |node: Node<'_, '_>| 1 + breaks.partition_point(|at| *at < node.range().start);
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("this is `{}`, not `graphml`", root.tag_name().name());
        return Err(reader.error(line(root), message));
    }
    let is = |name: &'static str| move |node: &Node<'_, '_>| node.tag_name().name() == name;
    let keys: BTreeMap<&str, &str> = root
        .children()
        .filter(is("key"))
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name")?)))
        .collect();
    let attributes = |node: Node<'_, '_>| -> Vec<(String, String)> {
        let data = node.children().filter(is("data"));
        data.filter_map(|data| {
            let name = keys.get(data.attribute("key")?)?;
            Some(((*name).to_owned(), data.text().unwrap_or("").to_owned()))
        })
        .collect()
    };
    let mut graphs = root.children().filter(is("graph"));
    let Some(graph) = graphs.next() else {
        return Err(reader.error(line(root), "there is no `graph`"));
    };
    if graphs.next().is_some() {
        reader.unused("graphs after the first");
    }
    let is_directed = graph.attribute("edgedefault") == Some("directed");
    // Nodes may come after the edges that name them.
    for node in graph.children().filter(is("node")) {
        let Some(id) = node.attribute("id") else {
            return Err(reader.error(line(node), "a node without `id`"));
        };
        let number = reader.node(id, line(node))?;
        let own = attributes(node);
        let own: Attributes<'_> = own.iter().map(|(name, text)| (&**name, &**text)).collect();
        reader.topology.nodes[number].label = label(&own).map(str::to_owned);
        reader.topology.nodes[number].place = place(&own);
    }
    for edge in graph.children().filter(is("edge")) {
        let end = |name| {
            let id = edge.attribute(name);
            let id = id.ok_or_else(|| reader.error(line(edge), format!("an edge without `{name}`")))?;
            reader.known(id).ok_or_else(|| reader.error(line(edge), format!("there is no node `{id}`")))
        };
        let ends = [end("source")?, end("target")?];
        let own = attributes(edge);
        let own: Attributes<'_> = own.iter().map(|(name, text)| (&**name, &**text)).collect();
        let stated = stated(&own, reader);
        let is_directed = edge.attribute("directed").map_or(is_directed, |directed| directed == "true");
        let kind = if is_directed { Kind::OneWay } else { Kind::Both };
        reader.edge(ends, kind, stated, line(edge))?;
    }
    Ok(())
}
