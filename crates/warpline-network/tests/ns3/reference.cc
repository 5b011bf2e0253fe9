// The packet network at link level in ns-3, for the test beside this file (tests/ns3.rs).
//
//     reference TOPOLOGY PACKETS [MARK_AT]
//
// TOPOLOGY has lines `NODE NODE BITS_PER_SECOND DELAY_PS QUEUE_PACKETS`, PACKETS has lines
// `TIME_PS SOURCE DESTINATION BYTES FLOW`. For each packet, in their order, a line is printed:
// `NUMBER delivered|dropped|lost TIME_PS LINKS MARKED`.
//
// Nodes are switches without IP: a packet goes on to one of the neighbors that are nearest to its
// destination, by a hash of its flow and the node. A packet that finds MARK_AT or more packets in
// the queue of its device is marked.

#include <ns3/core-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <queue>
#include <vector>

namespace
{

struct Job
{
    int64_t at;
    uint32_t source, destination, bytes, flow;
};

struct Fate
{
    const char *what = "lost";
    int64_t at = 0;
    uint32_t links = 0;
    bool marked = false;
};

struct Neighbor
{
    uint32_t node;
    ns3::Ptr<ns3::PointToPointNetDevice> device;
};

// What travels with a packet: its number. All else is looked up by it.
class Number : public ns3::Tag
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId id = ns3::TypeId("warpline::Number").SetParent<ns3::Tag>().AddConstructor<Number>();
        return id;
    }

    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    uint32_t GetSerializedSize() const override { return 4; }
    void Serialize(ns3::TagBuffer buffer) const override { buffer.WriteU32(value); }
    void Deserialize(ns3::TagBuffer buffer) override { value = buffer.ReadU32(); }
    void Print(std::ostream &out) const override { out << value; }

    uint32_t value = 0;
};

constexpr uint32_t FAR = std::numeric_limits<uint32_t>::max();

std::vector<Job> jobs;
std::vector<Fate> fates;
std::vector<std::vector<Neighbor>> neighbors;
std::map<uint32_t, std::vector<uint32_t>> distances;
uint32_t mark_at = FAR;

uint32_t Hash(uint32_t flow, uint32_t node)
{
    uint64_t x = (static_cast<uint64_t>(flow) << 32 | node) * 0x9e3779b97f4a7c15ULL;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ULL;
    x ^= x >> 32;
    return static_cast<uint32_t>(x);
}

// How many links each node is away from a destination.
const std::vector<uint32_t> &DistancesTo(uint32_t destination)
{
    auto &found = distances[destination];
    if (found.empty())
    {
        found.assign(neighbors.size(), FAR);
        found[destination] = 0;
        std::queue<uint32_t> waiting({destination});
        for (; !waiting.empty(); waiting.pop())
        {
            uint32_t node = waiting.front();
            for (const auto &next : neighbors[node])
            {
                if (found[next.node] == FAR)
                {
                    found[next.node] = found[node] + 1;
                    waiting.push(next.node);
                }
            }
        }
    }
    return found;
}

void Forward(uint32_t node, uint32_t number, ns3::Ptr<ns3::Packet> packet)
{
    const Job &job = jobs[number];
    const auto &distance = DistancesTo(job.destination);
    std::vector<const Neighbor *> nearer;
    for (const auto &next : neighbors[node])
    {
        if (distance[next.node] < distance[node])
        {
            nearer.push_back(&next);
        }
    }
    auto device = nearer[Hash(job.flow, node) % nearer.size()]->device;
    Fate &fate = fates[number];
    fate.links++;
    bool marks = device->GetQueue()->GetNPackets() >= mark_at;
    if (device->Send(packet, device->GetBroadcast(), 0x0800))
    {
        fate.marked |= marks;
    }
    else
    {
        fate.what = "dropped";
        fate.at = ns3::Simulator::Now().GetPicoSeconds();
    }
}

bool Receive(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, uint16_t, const ns3::Address &)
{
    Number number;
    packet->PeekPacketTag(number);
    uint32_t node = device->GetNode()->GetId();
    if (node == jobs[number.value].destination)
    {
        fates[number.value].what = "delivered";
        fates[number.value].at = ns3::Simulator::Now().GetPicoSeconds();
    }
    else
    {
        Forward(node, number.value, packet->Copy());
    }
    return true;
}

void Connect(uint32_t a, uint32_t b, uint64_t rate, int64_t delay, uint32_t queue)
{
    ns3::PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", ns3::DataRateValue(ns3::DataRate(rate)));
    helper.SetChannelAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(delay)));
    ns3::QueueSizeValue size(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, queue));
    helper.SetQueue("ns3::DropTailQueue", "MaxSize", size);
    auto devices = helper.Install(ns3::NodeList::GetNode(a), ns3::NodeList::GetNode(b));
    const uint32_t far[] = {b, a}, near[] = {a, b};
    for (uint32_t end : {0, 1})
    {
        devices.Get(end)->SetReceiveCallback(ns3::MakeCallback(&Receive));
        auto device = ns3::DynamicCast<ns3::PointToPointNetDevice>(devices.Get(end));
        neighbors[near[end]].push_back({far[end], device});
    }
}

void ReadTopology(const char *path)
{
    struct Line
    {
        uint32_t a, b;
        uint64_t rate;
        int64_t delay;
        uint32_t queue;
    };
    std::ifstream file(path);
    std::vector<Line> lines;
    uint32_t nodes = 0;
    for (Line line; file >> line.a >> line.b >> line.rate >> line.delay >> line.queue;)
    {
        lines.push_back(line);
        nodes = std::max({nodes, line.a + 1, line.b + 1});
    }
    ns3::NodeContainer all;
    all.Create(nodes);
    neighbors.resize(nodes);
    for (const auto &line : lines)
    {
        Connect(line.a, line.b, line.rate, line.delay, line.queue);
    }
    for (auto &of_node : neighbors)
    {
        std::stable_sort(of_node.begin(), of_node.end(), [](const auto &a, const auto &b) { return a.node < b.node; });
    }
}

void ReadPackets(const char *path)
{
    std::ifstream file(path);
    for (Job job; file >> job.at >> job.source >> job.destination >> job.bytes >> job.flow;)
    {
        jobs.push_back(job);
    }
    fates.resize(jobs.size());
    for (uint32_t number = 0; number < jobs.size(); number++)
    {
        auto send = [number] {
            auto packet = ns3::Create<ns3::Packet>(jobs[number].bytes);
            Number tag;
            tag.value = number;
            packet->AddPacketTag(tag);
            Forward(jobs[number].source, number, packet);
        };
        ns3::Simulator::ScheduleWithContext(jobs[number].source, ns3::PicoSeconds(jobs[number].at), send);
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 3)
    {
        std::cerr << "usage: reference TOPOLOGY PACKETS [MARK_AT]\n";
        return 2;
    }
    if (argc > 3)
    {
        mark_at = std::stoul(argv[3]);
    }
    ns3::Time::SetResolution(ns3::Time::PS);
    ns3::Config::SetDefault("ns3::PointToPointNetDevice::Mtu", ns3::UintegerValue(65535));
    ReadTopology(argv[1]);
    ReadPackets(argv[2]);
    ns3::Simulator::Run();
    for (uint32_t number = 0; number < fates.size(); number++)
    {
        const Fate &fate = fates[number];
        std::cout << number << ' ' << fate.what << ' ' << fate.at << ' ' << fate.links << ' ' << fate.marked << '\n';
    }
}
